# SPDX-License-Identifier: Apache-2.0
"""MLU-OPS test cases: reading, running, judging, showing and making them.

What an operator's case is made of stands in gen_case.py of its family; nothing here knows an
operator by name. ``pymluops case`` is the only way in.
"""
