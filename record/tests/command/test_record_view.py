# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The terminal shows what is worth reading of a recorded program first, and counts the rest."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from common.formats import C2C
from common.paths import ROOT
from common.show.terminal import show
from conftest import Cli
from model.results.c2c import Recorded
from model.run.model_error import validation
from record.lines.symbols import Frame
from record.report.picture import picture
from record.report.view import headline, record_view
from report.c2c import c2c_section


def line(share: float, sharing: str = "false") -> dict[str, Any]:
    access = {
        "store_share": 1.0, "offset": 0, "field": f"field{share}", "kind": "rmw", "size": 8,
        "avg_load_cycles": 9.0, "records": 4, "threads": [1], "symbol": "work", "source": "a.c:1",
        "hitm_remote": 4, "hitm_local": 0, "loads": 4, "stores": 4, "max_load_cycles": 9.0,
        "pc": "0x1", "cpus": 1, "frames": [], "hitm_remote_share": 1.0, "hitm_local_share": 0.0,
        "own": None, "on_cpus": [0], "callers": [],
    }  # fmt: skip
    return {
        "object": f"object{share}", "kind": "variable", "offset": 0, "type": "long", "line": 0,
        "sharing": sharing,
        "hitm_share": 0.3, "hitm_remote": 4, "hitm_local": 0, "loads": 4, "stores": 4, "locked": 4,
        "avg_load_cycles": 9.0, "max_load_cycles": 9.0, "cycle_share": share, "threads": [1, 2],
        "cycles": share * 1000, "accesses": [access], "allocated": [], "home": 0, "records": 4,
        "process": 0, "beside": [],
    }  # fmt: skip


def variant(*lines: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": "m", "cpus": 2, "hitm_remote": 8, "hitm_local": 0, "hitm_total": 8, "lines": lines,
        "lines_total": len(lines), "work_cycles": 1000, "machine_sha256": "0",
        "at_lines": sum(entry["cycles"] for entry in lines if len(entry["threads"]) > 1),
        "runs": [{"threads": 2, "operations": 0, "work_cycles": 1000.0, "lines": []}],
        "model": {
            "virtual_ns": 1.0, "busy_ns": 1.0, "instructions": 9, "loads": 4, "stores": 4,
            "locked": 4, "lines_touched": 1,
        },
    }  # fmt: skip


REPORT: dict[str, Any] = {
    "format": C2C, "experiment": "p", "guest": "2 threads", "recorder": "exact", "partial": False,
    "program": {
        "status": 0, "signal": None, "threads": 2, "processes": 1, "placement": "os",
        "operations": 0, "compiler": "gcc",
    },
    "recording": {"instructions": 9, "accesses_reported": 4}, "uncertainty": None, "seeds": None,
    "advised": True, "advice": [], "waits": [], "notes": [], "limits": ["predicted"],
    "machine": {"name": "m", "cpus": 2}, "names_resolved": True, "provenance": {},
    "model_error": [to_builtins(validation("workload", "m"))] * 2,
}  # fmt: skip


def advice(words: str, fewer: float) -> dict[str, Any]:
    gain = {
        "cycles_before": 1.0, "cycles_after": 1 - fewer, "fewer": fewer, "interval": None,
        "hitm_before": 9, "hitm_after": 0,
    }  # fmt: skip
    return {
        "object": "a", "words": words, "edit": "", "bytes_moved": 8, "moved": [],
        "machines": {"m": gain},
    }  # fmt: skip


def shown(capsys: pytest.CaptureFixture[str], *lines: dict[str, Any]) -> str:
    show([record_view(Recorded.of(REPORT | {"variants": [variant(*lines)]}))])
    return capsys.readouterr().out


def test_small_lines_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, line(0.4), line(0.0049), line(0.001))
    assert "object0.4" in text
    assert "field0.4" in text
    assert "0.0049" not in text
    assert "2 more shared lines take less than 0.5% of all cycles each" in text
    assert "false sharing was found, but a trial that separated these" in text


def test_operations_have_a_time_before_and_after() -> None:
    edit = advice("pad `a` to a line", 0.75)
    counted = variant(line(0.4)) | {"ns_per_operation": 40.0}
    report = Recorded.of(REPORT | {"variants": [counted], "advice": [edit]})
    words = "pad `a` to a line: 75.0% fewer cycles on m"
    assert headline(report) == f"{words} (10.0 instead of 40.0 ns per operation)"
    plain = Recorded.of(REPORT | {"variants": [variant(line(0.4))], "advice": [edit]})
    assert headline(plain) == words


def test_a_line_is_shown_as_memory_before_and_after_an_edit() -> None:
    def access(offset: int, size: int, threads: list[int], stores: int) -> dict[str, Any]:
        more = {"offset": offset, "size": size, "threads": threads, "stores": stores}
        made: dict[str, Any] = line(0.4)["accesses"][0] | more
        return made

    uses = [access(0, 2, [1], 4), access(2, 1, [2], 0), access(4, 2, [1, 2], 4)]
    uses += [access(8, 1, [1], 4), access(8, 1, [2], 0), access(63, 8, [2], 1)]
    hot = line(0.4) | {"address": "0x1000", "threads": [1, 2], "accesses": uses}
    moved = [(0x1002, 0x1003), (0x1008, 0x1108)]
    edit = advice("w", 0.5) | {"moved": moved}
    report = REPORT | {"variants": [variant(line(0.5), hot)], "advice": [edit]}
    drawing = picture(Recorded.of(report))
    assert drawing is not None
    assert drawing.before == "AAb.**..+".ljust(63, ".") + "B"
    assert drawing.after == [
        "AA..**".ljust(64, "."), "b".ljust(64, "."), ("+".ljust(55, ".") + "B").ljust(64, "."),
    ]  # fmt: skip
    assert (2, 3, "field0.4") in drawing.fields
    plain = picture(Recorded.of(report | {"advice": []}))
    assert plain is not None
    assert (plain.line.place, plain.after) == ("object0.5", [])
    (drawn,) = c2c_section(Recorded.of(report)).images
    assert drawn.title.startswith("bytes of object0.4: each byte has")
    svg = base64.b64decode(drawn.url.partition(",")[2]).decode()
    assert svg.count(">edited<") == 3
    assert "field0.4" in svg


def test_of_an_unknown_object_nothing_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    """Regression: the report said that no separation would save cycles, and had tried none."""
    text = " ".join(shown(capsys, {**line(0.9), "object": "0x7f00", "kind": "unknown"}).split())
    assert "90.0% of all cycles on m: some are falsely shared, in memory of unknown objects" in text
    assert "found at 0x7f00, but the recorder does not know the object" in text
    assert "nothing to gain" not in text
    known = shown(capsys, line(0.9), {**line(0.8), "kind": "unknown"})
    assert "nothing to gain: false sharing was found" in known


def test_a_line_of_one_thread_is_not_contended(capsys: pytest.CaptureFixture[str]) -> None:
    """The model charges a locked instruction even if no other thread uses its line."""
    alone = {**line(0.21), "threads": [0], "hitm_remote": 0}
    text = shown(capsys, alone)
    assert text.startswith("shared lines take 0% of all cycles on m: nothing to gain")
    assert "object0.21" not in text
    assert "or only one thread used" in text
    assert "object0.21" not in shown(capsys, alone, line(0.3))


RECORD = json.loads((ROOT / "report/tests/data/record.json").read_text())


@pytest.mark.parametrize("offset", [1 << 20, 1 << 40])
def test_a_line_may_be_far_inside_a_large_object(cli: Cli, tmp_path: Path, offset: int) -> None:
    large = copy.deepcopy(RECORD)
    large["variants"][0]["lines"][0] |= {"offset": offset, "line": offset // 64}
    (tmp_path / "large.json").write_text(json.dumps(large))
    outcome = cli("record", "show", tmp_path / "large.json")
    assert outcome.status == 0, outcome.err
    assert f"side+{offset:#x}" in outcome.out


INLINED = [
    {"function": "core::sync::atomic::atomic_add", "source": "atomic.rs:3900"},
    {"function": "hits::Counter::add", "source": "main.rs:7"},
    {"function": "std::rt::begin", "source": "rt.rs:1"},
]


@pytest.mark.parametrize(
    ("own", "function", "source"),
    [(1, "hits::Counter::add", "main.rs:7"), (None, "std::rt::begin", "rt.rs:1")],
)
def test_a_table_has_one_function_of_those_inlined_into_each_other(
    capsys: pytest.CaptureFixture[str], own: int | None, function: str, source: str
) -> None:
    """The table names the program's own function, else the one that contains all others."""
    hot = line(0.5)
    hot["accesses"][0] |= {"frames": INLINED, "own": own, "symbol": "a < b < c"}
    hot["allocated"] = [{**frame, "own": frame is INLINED[1]} for frame in INLINED]
    table = shown(capsys, hot)
    assert source in table
    assert function in table
    assert "atomic.rs" not in table
    assert "allocated by hits::Counter::add (main.rs:7)\n" in table


def test_functions_of_libraries_are_known_by_their_place_or_name() -> None:
    own = Frame("core::pool::take", "pool.cc:4", "/src/core/pool.cc")
    theirs = [
        Frame("core::sync::atomic::atomic_add", "atomic.rs:1", "/rustc/1.80/library/core/a.rs"),
        Frame("flume::Chan::send", "lib.rs:1", "/build/.cargo/registry/src/x/flume/src/lib.rs"),
        Frame("std::mutex::lock", "?"),
        Frame("sync.(*Mutex).Lock", "mutex.go:9", "/usr/local/go/src/sync/mutex.go"),
    ]
    assert own.own
    assert not any(frame.own for frame in theirs)
