# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a file, and where."""

from pathlib import Path


class CaseError(Exception):
    """A file that is no case, or a case that says something impossible."""

    def __init__(self, problem: str, field: str = "", line: int = 0) -> None:
        super().__init__(f"{field}: {problem}" if field else problem)
        self.problem, self.field, self.line = problem, field, line

    def at(self, path: Path) -> str:
        """Return file, line, field and problem, as compilers write them."""
        place = f"{path}:{self.line}" if self.line else str(path)
        return ": ".join(part for part in (place, self.field, self.problem) if part)
