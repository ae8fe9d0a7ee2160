# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes cache lines and their accesses as the recorders write them. A figure left out is 0."""

from __future__ import annotations

from typing import Any

from model.results.raw import Access, Line

_FIGURES = (
    "records", "loads", "stores", "hitm_remote", "hitm_local", "avg_load_cycles",
    "max_load_cycles", "store_cycles",
)  # fmt: skip


def access(offset: int = 0, by: tuple[int, ...] = (), **more: Any) -> Access:
    """Return accesses of 8 bytes."""
    known = dict.fromkeys(_FIGURES, 0) | {"hitm_true": 0, "pc": "0x1", "size": 8, "kind": "rmw"}
    return Access.of({**known, "offset": offset, "by": list(by), "cpus": len(by), **more})


def line(*accesses: Access, address: int = 0x1000, **more: Any) -> Line:
    """Return a line, with the HITM of its accesses unless ``more`` contains another number."""
    known = dict.fromkeys(_FIGURES, 0) | {"hitm_remote": sum(a.hitm for a in accesses)}
    cache_line = Line.of({**known, "address": hex(address), "home": 0, "accesses": [], **more})
    cache_line.accesses.extend(accesses)
    return cache_line
