# SPDX-License-Identifier: Apache-2.0
"""What help() shows of a function first: its arguments and their defaults, on one line."""

import inspect
from types import FunctionType
from typing import Any, cast


def hide_types(*things: object) -> None:
    """Leave the types out of the signatures of functions and classes.

    NumPy's types make them too long to read; docstrings say what is taken. Type checkers read the
    source, and ``typing.get_type_hints`` reads the annotations, which stay.
    """
    for thing in things:
        function = vars(thing).get("__init__") if isinstance(thing, type) else thing
        if isinstance(function, FunctionType):
            signature = inspect.signature(function)
            bare = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
            cast(Any, function).__signature__ = inspect.Signature(bare)
