# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage bench: measures the structures on this host's CPUs with schedshard-bench."""

from dataclasses import dataclass
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.formats import BENCH
from schedshard.common.paths import bench_binary
from schedshard.common.provenance import tool_versions
from schedshard.common.tool import run_json

_ROW_KEYS = ("group", "op", "variant")


@dataclass(frozen=True)
class BenchRequest:
    """How long to measure. A quick measurement is for a first look and less precise."""

    quick: bool = False


def bench_argv(request: BenchRequest) -> list[str]:
    """Return the argument list of schedshard-bench."""
    return [str(bench_binary()), *(["--short"] if request.quick else [])]


def bench(request: BenchRequest) -> dict[str, Any]:
    """Measure the structures, and return the checked result with its provenance."""
    raw = run_json(bench_argv(request))
    rows = raw.get("rows") if isinstance(raw, dict) else None
    host = raw.get("host") if isinstance(raw, dict) else None
    if not isinstance(rows, list) or not isinstance(host, dict):
        raise UserError("schedshard-bench printed no rows and host", status=1)
    for row in rows:
        if not isinstance(row, dict) or any(key not in row for key in _ROW_KEYS):
            raise UserError("schedshard-bench printed a row without group, op or variant", status=1)
    return {
        "format": BENCH,
        "quick": request.quick,
        "host": host,
        "rows": rows,
        "provenance": tool_versions(),
    }
