# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx. build.py calls it; nothing is fetched while it runs."""

from importlib.metadata import version as version_of

project = "pymluops"
author = "pymluops developers"
project_copyright = author
version = release = version_of("pymluops")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"pymluops {version}"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sourcelink = False

myst_enable_extensions = ["colon_fence", "fieldlist"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page that is shown inside another starts at its own level

# Docstrings are in the style of NumPy. `name` in them is code.
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 90
c_maximum_signature_line_length = 90

# A reference that leads nowhere is an error. Two kinds are prose and no references: the types of
# arguments in docstrings, and the types of the C standard.
nitpicky = True
nitpick_ignore_regex = [
    ("py:(class|obj)", ".*"),
    ("c:identifier", r"u?int\d+_t|size_t|FILE"),
]
