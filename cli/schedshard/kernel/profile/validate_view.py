# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows the result of c2c-validate, a row per check."""

from rich.console import RenderableType

from schedshard.kernel.profile.validate import Validation
from schedshard.show.sheet import Sheet


def validate_view(report: Validation) -> RenderableType:
    """Return the table for a terminal."""
    sheet = Sheet(
        "Modified lines found in another cache, per operation: known or simulated, and of a guest "
        f"with {report.guest} that stands for a small {report.machine}",
        "", "expected", "found", "",
    )  # fmt: skip
    for check in report.checks:
        verdict = "good" if check.good else "MISSED"
        sheet.add_row(check.what, check.expected, check.found, verdict)
    return sheet
