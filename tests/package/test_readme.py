# SPDX-License-Identifier: Apache-2.0
"""The commands of README.md are those of CI, and links lead somewhere."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_ci_calls_the_test_command() -> None:
    commands = re.findall(r"^python3 -m venv \.venv && .*$", README, re.MULTILINE)
    assert len(commands) == 2
    *installation, tests = commands[1].split(" && ")
    steps = (ROOT / ".ci/steps.sh").read_text()
    assert f"step_setup() {{\n  {' && '.join(installation)}\n}}" in steps
    assert f"step_tests() {{\n  {tests}\n}}" in steps


def test_commands_name_what_is_there() -> None:
    """The package is in no index: it is installed from its sources."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        installed = re.findall(r"pip install (?:-\S+ )*'?([^\s'`]+)", page.read_text())
        assert not [name for name in installed if name.startswith("pymluops")], page


def test_pip_gets_options_by_their_long_name() -> None:
    """Debian 12 has pip 23.0, which knows --config-settings, and not yet -C."""
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        assert not re.search(r"-C cmake\.define", page.read_text()), page


def test_links_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[\w-]+)?\)", prose):
            assert (page.parent / target).exists(), f"{page}: {target}"
