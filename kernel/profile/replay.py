# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage replay: replays a recorded run of a kernel on other machines.

The same accesses, instruction for instruction, meet other latencies and caches. A file beside the
trace contains the names of lines and code, because the recorded guest no longer exists. A line that
was cold during the recording has no name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from common.errors import UserError
from common.formats import C2C as REPORT
from common.output import read_json
from common.provenance import sha256_file, tool_versions
from model.machines.presets import Machine, machine_topology
from model.results import raw
from model.results.lines import CacheLine
from model.results.read import checked
from model.results.saved import Count, Offset, Saved, absent
from record.lines.replay_tool import replay_trace
from record.lines.report import Names
from record.shape import Shape
from record.trace import names_path
from record.watch import Watch, map_cpus, map_nodes

TRACE_NAMES = "schedshard/trace-names/1"
_WHERE = ("object", "kind", "type", "offset", "line")


@dataclass(frozen=True)
class ReplayRequest:
    """A trace, and the machines on which to replay it."""

    trace: Path
    machines: tuple[Machine, ...]
    lines: int = 10


class NamedLine(CacheLine, kw_only=True):
    """A line of a kernel, with the object that gives it its name."""

    kind: str
    offset: Offset
    line: Offset


def known_names(lines: Sequence[NamedLine], names: Names) -> dict[str, Any]:
    """Return the names of lines and of places in the code, to keep beside a trace."""
    places: dict[str, dict[str, Any]] = {}
    for line in lines:
        named = {}
        for access in line.accesses:
            if names.layouts is not None and line.type:
                field = names.layouts.field(line.type, line.offset + access.offset)
                named[str(access.offset)] = field
        places[line.address] = {**{key: getattr(line, key) for key in _WHERE}, "fields": named}
    code = {
        f"{pc + 1:#x}": [[frame.function, frame.source] for frame in frames]
        for pc, frames in names.frames.items()
    }
    return {"lines": places, "code": code}


class _Placed(Saved, kw_only=True):
    object: str
    kind: str = ""
    type: str = ""
    offset: Offset = 0
    line: Offset = 0
    fields: dict[str, str] = absent({})


class _Kept(Saved, kw_only=True):
    """The file of names, as far as a replay reads it."""

    variant: str
    workload: str
    shape: Shape
    extra_mb: Count
    partial: bool
    lines: dict[str, _Placed]
    code: dict[str, list[tuple[str, str]]]


def _load(trace: Path) -> _Kept:
    path = names_path(trace)
    if not trace.is_file():
        raise UserError(f"no trace {trace}: './schedshard kernel c2c --trace FILE' makes one")
    data = read_json(path, "names of a trace")
    if not isinstance(data, dict) or data.get("format") != TRACE_NAMES:
        raise UserError(f"{path} does not hold the names of a trace")
    kept = checked(data, str(path), _Kept.of)
    unknown = set(data["shape"]) - {field.name for field in fields(Shape)}
    if unknown:
        raise UserError(f"{path} is damaged: a shape has no {min(unknown)!r}")
    return kept


def _access(access: raw.Access, line: raw.Line, place: _Placed, kept: _Kept) -> dict[str, Any]:
    stores = sum(access.stores for access in line.accesses) or 1
    frames = kept.code.get(access.pc, [])
    return {
        **access.to_data(),
        "hitm_remote_share": access.hitm_remote / (line.hitm_remote or 1),
        "hitm_local_share": access.hitm_local / (line.hitm_local or 1),
        "store_share": access.stores / stores,
        "symbol": " < ".join(name for name, _ in frames) or access.pc,
        "source": frames[0][1] if frames else "?",
        "frames": [{"function": name, "source": source} for name, source in frames],
        "field": place.fields.get(str(access.offset), ""),
    }


def _line(line: raw.Line, total: int, kept: _Kept) -> dict[str, Any]:
    place = kept.lines.get(line.address, _Placed(object=line.address))
    accesses = sorted(line.accesses, key=lambda access: -access.hitm)
    return {
        **line.to_data(),
        **{key: getattr(place, key) for key in _WHERE},
        "hitm_share": line.hitm / (total or 1),
        "accesses": [_access(access, line, place, kept) for access in accesses],
    }


def _run(request: ReplayRequest, machine: Machine, kept: _Kept) -> raw.Run:
    topology = machine_topology(machine)
    cpus = map_cpus(kept.shape, topology, machine.name)
    nodes = map_nodes(kept.shape, kept.extra_mb, cpus, topology)
    return replay_trace(
        request.trace,
        lambda result: Watch(result, machine=machine.flat, cpus=cpus, nodes=nodes).lines(),
    )


def replay(request: ReplayRequest) -> dict[str, Any]:
    """Return the run on each machine. The report has a machine where others have a variant."""
    kept = _load(request.trace)
    variants = []
    for machine in request.machines:
        run = _run(request, machine, kept)
        variants.append(
            {
                "name": machine.name,
                "cpus": kept.shape.cpus,
                "lines_total": run.nr_lines,
                "hitm_total": run.hitm,
                "hitm_remote": run.hitm_remote,
                "hitm_local": run.hitm_local,
                "partial": run.partial or kept.partial,
                "model": run.model.to_data(),
                "lines": [_line(line, run.hitm, kept) for line in run.lines[: request.lines]],
                "machine_sha256": machine.sha256,
            }
        )
    return {
        "format": REPORT,
        "experiment": f"{kept.workload} with {kept.variant}, replayed",
        "machine": {"name": "each machine", "cpus": kept.shape.cpus, "clock_ghz": 0.0},
        "guest": kept.shape.words,
        "names_resolved": True,
        "partial": any(variant["partial"] for variant in variants),
        "variants": variants,
        "provenance": {**tool_versions(), "trace_sha256": sha256_file(request.trace)},
    }
