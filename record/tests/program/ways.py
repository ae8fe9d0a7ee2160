# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Lists the calls of record/tests/program/ways.c that a report must show."""

from __future__ import annotations

from typing import Any

_BELOW = ("round_of_all", "work")
# By counter: the functions that lead to add(), innermost first.
WAYS = {
    "direct": {("often", *_BELOW), ("rarely", *_BELOW)}, "jumped": {("after_jump", *_BELOW)},
    "skipped": {("large", *_BELOW)}, "shallow": {("after_deeper", *_BELOW)},
    "resumed": {("after_signal", *_BELOW)}, "outside": {("after_fiber", *_BELOW)},
    "deep": {(*["down"] * 501, *_BELOW)}, "pointed": {("pointer", *_BELOW)},
}  # fmt: skip


def ways(report: Any, name: str) -> set[tuple[str, ...]]:
    """The functions that called add() for a counter."""
    (line,) = [line for line in report["variants"][0]["lines"] if line["object"] == name]
    return {
        tuple(frame["function"] for frame in caller["frames"])
        for access in line["accesses"]
        if access["symbol"] == "add"
        for caller in access["callers"]
    }
