# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage replay: replays a recorded run of a kernel on other machines.

A replay repeats the accesses, instruction for instruction, with other latencies and caches. A file
beside the trace contains the names of lines and code, because the recorded guest no longer exists.
A line that was cold during the recording has no name.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from msgspec import field

from common.errors import UserError
from common.output import read_json
from common.provenance import sha256_file, tool_versions
from model.machines.presets import Machine, machine_topology
from model.results import raw
from model.results.c2c import Access, Described, Frame, Line, Replayed, ReplayedVariant
from model.results.lines import CacheLine, part_of
from model.results.read import checked
from model.results.saved import Count, Offset, Saved
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


class Placed(Saved, kw_only=True):
    """The object on a line, the line's offset in it, and the fields by their offset in the line."""

    object: str
    kind: str = ""
    type: str = ""
    offset: Offset = 0
    line: Offset = 0
    fields: dict[str, str] = field(default_factory=dict)


class NamedLine(CacheLine, kw_only=True):
    """A line of a kernel, with the object that gives it its name."""

    kind: str

    @classmethod
    def placed(cls, line: raw.Line, where: Placed) -> Self:
        """Return a line with its object."""
        own = {name: getattr(where, name) for name in _WHERE}
        return cls.made_from(line, **own)


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


class _Kept(Saved, kw_only=True):
    """The file of names, as far as a replay reads it."""

    variant: str
    workload: str
    shape: Shape
    extra_mb: Count
    partial: bool
    lines: dict[str, Placed]
    code: dict[str, list[tuple[str, str]]]


def _load(trace: Path) -> _Kept:
    path = names_path(trace)
    if not trace.is_file():
        raise UserError(f"no trace {trace}: './schedshard kernel c2c --trace FILE' makes one")
    data = read_json(path, "names of a trace")
    if not isinstance(data, dict) or data.get("format") != TRACE_NAMES:
        raise UserError(f"{path} does not hold the names of a trace")
    kept = checked(data, str(path), _Kept.of)
    unknown = set(data["shape"]) - {member.name for member in fields(Shape)}
    if unknown:
        raise UserError(f"{path} is damaged: a shape has no {min(unknown)!r}")
    return kept


def _access(access: raw.Access, line: raw.Line, place: Placed, kept: _Kept) -> Access:
    frames = [Frame(function=name, source=at) for name, at in kept.code.get(access.pc, [])]
    return Access.named(access, line, frames, field=place.fields.get(str(access.offset), ""))


def _line(line: raw.Line, total: int, kept: _Kept) -> Line:
    place = kept.lines.get(line.address, Placed(object=line.address))
    accesses = sorted(line.accesses, key=lambda access: -access.hitm)
    return Line.made_from(
        NamedLine.placed(line, place),
        hitm_share=part_of(line.hitm, total),
        accesses=[_access(access, line, place, kept) for access in accesses],
    )


def _run(request: ReplayRequest, machine: Machine, kept: _Kept) -> raw.Run:
    topology = machine_topology(machine)
    cpus = map_cpus(kept.shape, topology, machine.name)
    nodes = map_nodes(kept.shape, kept.extra_mb, cpus, topology)
    return replay_trace(
        request.trace,
        lambda result: Watch(result, machine=machine.flat, cpus=cpus, nodes=nodes).lines(),
    )


def replay(request: ReplayRequest) -> Replayed:
    """Return the run on each machine. The report has a machine where others have a variant."""
    kept = _load(request.trace)
    runs = [(machine, _run(request, machine, kept)) for machine in request.machines]
    return Replayed(
        experiment=f"{kept.workload} with {kept.variant}, replayed",
        machine=Described(name="each machine", cpus=kept.shape.cpus),
        guest=kept.shape.words,
        partial=kept.partial or any(run.partial for _, run in runs),
        variants=[
            ReplayedVariant(
                name=machine.name,
                cpus=kept.shape.cpus,
                lines_total=run.nr_lines,
                hitm_total=run.hitm,
                hitm_remote=run.hitm_remote,
                hitm_local=run.hitm_local,
                model=run.model,
                lines=[_line(line, run.hitm, kept) for line in run.lines[: request.lines]],
                machine_sha256=machine.sha256,
            )
            for machine, run in runs
        ],
        provenance={**tool_versions(), "trace_sha256": sha256_file(request.trace)},
    )
