# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage bench: measures the structures on this host's CPUs with schedshard-bench."""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msgspec import ValidationError

from common.errors import UserError
from common.formats import BENCH
from common.paths import bench_binary
from common.provenance import tool_versions
from common.tool import Running, run_tool
from model.results.bench import Bench


@dataclass(frozen=True)
class BenchRequest:
    """How long to measure. A quick measurement is for a first look and less precise."""

    quick: bool = False


def bench_argv(request: BenchRequest) -> list[str]:
    """Return the argument list of schedshard-bench."""
    return [str(bench_binary()), *(["--short"] if request.quick else [])]


def run_bench(argv: Sequence[str]) -> Any:
    """Return what schedshard-bench printed. Its files are removed, however it ends."""
    with tempfile.TemporaryDirectory(prefix="schedshard-") as folder:
        return run_tool(argv, Running(), Path(folder))


def bench(request: BenchRequest) -> dict[str, Any]:
    """Measure the structures, and return the checked result with its provenance."""
    raw = run_bench(bench_argv(request))
    host, rows = (raw.get(name) if isinstance(raw, dict) else None for name in ("host", "rows"))
    data = {
        "format": BENCH,
        "quick": request.quick,
        "host": host,
        "rows": rows,
        "provenance": tool_versions(),
    }
    try:
        Bench.of(data)
    except ValidationError as error:
        raise UserError(f"schedshard-bench printed no measurements: {error}", status=1) from error
    return data
