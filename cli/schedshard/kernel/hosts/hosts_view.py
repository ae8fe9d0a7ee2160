# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows root domains found by doctor and by the kernel, a line per host as soon as it is done."""

from collections.abc import Iterable, Mapping
from typing import Any

_EQUAL = {True: "equal", False: "DIFFERENT", None: "not read"}


def words(domains: Iterable[tuple[str, bool]]) -> str:
    """Return root domains on one line, with a star after def_root_domain."""
    return " | ".join(f"{cpus}{'*' if default else ''}" for cpus, default in domains)


def row_words(row: Mapping[str, Any]) -> str:
    """Return the line of one host."""
    head = f"{row['case']:<18} {_EQUAL[row['equal']]:<9}"
    if row["equal"] is False:
        return f"{head}  doctor {words(row['doctor'])}; kernel {words(row['kernel'])}"
    return f"{head}  {words(row['doctor'])}"


def sum_words(report: Mapping[str, Any]) -> str:
    """Return a line that sums up all hosts."""
    rows = report["cases"]
    held = [row for row in rows if row["equal"]]
    read = [row for row in rows if row["equal"] is not None]
    return (
        f"{report['kernel']}, {report['guest']}: {len(rows)} hosts, the kernel's root domains were "
        f"read in {len(read)}, doctor's are equal in {len(held)} (* def_root_domain)"
    )
