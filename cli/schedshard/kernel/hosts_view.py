# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Root domains by doctor and by the kernel, a row a host."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType

from schedshard.sheet import Sheet


def words(domains: Iterable[tuple[str, bool]]) -> str:
    """Root domains on one line; def_root_domain has a star."""
    return " | ".join(f"{cpus}{'*' if default else ''}" for cpus, default in domains)


def hosts_view(report: Mapping[str, Any]) -> RenderableType:
    """For the terminal."""
    sheet = Sheet(
        f"Root domains of {report['variant']}, {report['guest']}: computed by doctor from the "
        "collector's tar file, and read from the kernel's memory (* def_root_domain)",
        "host", "doctor", "kernel", "", "bytes",
        right=("bytes",),
    )  # fmt: skip
    for row in report["cases"]:
        sheet.add_row(
            row["case"], words(row["doctor"]), words(row["kernel"]),
            "equal" if row["equal"] else "DIFFERENT", f"{row['bytes']:,}",
        )  # fmt: skip
    return sheet
