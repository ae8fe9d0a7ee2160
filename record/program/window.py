# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says which part of a run is recorded. Options need this file, so it imports little."""

from dataclasses import dataclass

from common.errors import UserError


@dataclass(frozen=True)
class Window:
    """Which part of the run is recorded, in seconds of the host or between the program's marks."""

    after: float
    lasts: float | None
    marks: bool

    def __post_init__(self) -> None:
        """Raise a UserError for options that exclude each other."""
        if self.marks and (self.after or self.lasts is not None):
            raise UserError(
                "--marks lets the program choose the window: leave --after and --for out"
            )
