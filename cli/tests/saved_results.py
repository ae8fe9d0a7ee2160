# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes results with the few members that a test is about, and damaged results."""

from __future__ import annotations

import copy
from typing import Any

from model.results.run import Result, run_of

GONE = object()


def result(variants: list[dict[str, Any]], **more: Any) -> Result:
    """A result with these variants."""
    return run_of(
        {
            "format": "f", "experiment": "e", "title": "", "cpus": 4, "placement": "os",
            "machine": {"name": "m", "title": "", "kind": "measured", "cpus": 4}, "cap": None,
            "baseline": "b", "variants": variants, "provenance": {"version": "", "commit": ""},
            **more,
        }
    )  # fmt: skip


def bar(name: str, **more: Any) -> dict[str, Any]:
    """A variant of Bars."""
    return {
        "name": name, "title": "", "cycles_per_op": 1.0, "ns_per_op": 1.0, "relative": None,
        "published": None, "metrics": {}, "lines": [], **more,
    }  # fmt: skip


def swept(name: str, *points: dict[str, Any]) -> dict[str, Any]:
    """A variant with points."""
    return {"name": name, "title": "", "points": [{"metrics": {}, **point} for point in points]}


def damaged(value: Any, path: tuple[str | int, ...], other: Any) -> Any:
    """The value with ``other`` at a place, or with nothing there if ``other`` is GONE."""
    changed = copy.deepcopy(value)
    at = changed
    for step in path[:-1]:
        at = at[step]
    if other is GONE:
        del at[path[-1]]
    else:
        at[path[-1]] = other
    return changed
