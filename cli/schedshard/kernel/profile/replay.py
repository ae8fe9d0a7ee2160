# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage replay: replays a recorded run of a kernel on other machines.

The same accesses, instruction for instruction, meet other latencies and caches. A file beside the
trace contains the names of lines and code, because the recorded guest no longer exists. A line that
was cold during the recording has no name.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from schedshard.common.errors import UserError
from schedshard.common.formats import C2C as REPORT
from schedshard.common.output import read_json
from schedshard.common.provenance import sha256_file, tool_versions
from schedshard.kernel.guest.topology import Shape
from schedshard.kernel.probe.watch import Watch, map_cpus, map_nodes
from schedshard.lines.replay_tool import replay_trace
from schedshard.lines.report import Names
from schedshard.machines.presets import Machine, machine_topology

TRACE_NAMES = "schedshard/trace-names/1"


@dataclass(frozen=True)
class ReplayRequest:
    """A trace, and the machines on which to replay it."""

    trace: Path
    machines: tuple[Machine, ...]
    lines: int = 10


def names_path(trace: Path) -> Path:
    """Return the path of the file with a trace's names."""
    return trace.with_name(f"{trace.name}.names.json")


def known_names(lines: Sequence[Mapping[str, Any]], names: Names) -> dict[str, Any]:
    """Return the names of lines and of places in the code, to keep beside a trace."""
    places: dict[str, dict[str, Any]] = {}
    for line in lines:
        fields = {}
        for access in line["accesses"]:
            offset = str(access["offset"])
            if names.layouts is not None and line["type"]:
                fields[offset] = names.layouts.field(line["type"], line["offset"] + int(offset))
        places[line["address"]] = {
            **{key: line[key] for key in ("object", "kind", "type", "offset", "line")},
            "fields": fields,
        }
    code = {
        f"{pc + 1:#x}": [[frame.function, frame.source] for frame in frames]
        for pc, frames in names.frames.items()
    }
    return {"lines": places, "code": code}


def _load(trace: Path) -> tuple[dict[str, Any], Shape]:
    path = names_path(trace)
    if not trace.is_file():
        raise UserError(f"no trace {trace}: './schedshard kernel c2c --trace FILE' makes one")
    data = read_json(path, "names of a trace")
    if not isinstance(data, dict) or data.get("format") != TRACE_NAMES:
        raise UserError(f"{path} does not hold the names of a trace")
    try:
        return data, Shape(**data["shape"])
    except (KeyError, TypeError) as error:
        raise UserError(f"{path} is damaged: {error}") from error


def _access(
    access: Mapping[str, Any],
    line: Mapping[str, Any],
    place: Mapping[str, Any],
    code: Mapping[str, Any],
) -> dict[str, Any]:
    stores = sum(a["stores"] for a in line["accesses"]) or 1
    frames = code.get(access["pc"], [])
    return {
        **access,
        "hitm_remote_share": access["hitm_remote"] / (line["hitm_remote"] or 1),
        "hitm_local_share": access["hitm_local"] / (line["hitm_local"] or 1),
        "store_share": access["stores"] / stores,
        "symbol": " < ".join(name for name, _ in frames) or access["pc"],
        "source": frames[0][1] if frames else "?",
        "frames": [{"function": name, "source": source} for name, source in frames],
        "field": place.get("fields", {}).get(str(access["offset"]), ""),
    }


def _line(line: Mapping[str, Any], total: int, data: Mapping[str, Any]) -> dict[str, Any]:
    nameless = {"object": line["address"], "kind": "", "type": "", "offset": 0, "line": 0}
    place = data["lines"].get(line["address"], nameless)
    accesses = [_access(a, line, place, data["code"]) for a in line["accesses"]]
    return {
        **line,
        **{key: place[key] for key in nameless},
        "hitm_share": (line["hitm_remote"] + line["hitm_local"]) / (total or 1),
        "accesses": sorted(accesses, key=lambda a: -(a["hitm_remote"] + a["hitm_local"])),
    }


def _run(request: ReplayRequest, machine: Machine, shape: Shape, extra_mb: int) -> dict[str, Any]:
    topology = machine_topology(machine)
    cpus = map_cpus(shape, topology, machine.name)
    nodes = map_nodes(shape, extra_mb, cpus, topology)
    return replay_trace(
        request.trace,
        lambda result: Watch(result, machine=machine.path, cpus=cpus, nodes=nodes).lines(),
    )


def replay(request: ReplayRequest) -> dict[str, Any]:
    """Return the run on each machine. The report has a machine where others have a variant."""
    data, shape = _load(request.trace)
    variants = []
    for machine in request.machines:
        raw = _run(request, machine, shape, int(data["extra_mb"]))
        total = raw["hitm_remote"] + raw["hitm_local"]
        variants.append(
            {
                "name": machine.name,
                "cpus": shape.cpus,
                "lines_total": raw["nr_lines"],
                "hitm_total": total,
                "hitm_remote": raw["hitm_remote"],
                "hitm_local": raw["hitm_local"],
                "partial": bool(raw["partial"] or data["partial"]),
                "model": raw["model"],
                "lines": [_line(line, total, data) for line in raw["lines"][: request.lines]],
                "machine_sha256": sha256_file(machine.path),
            }
        )
    return {
        "format": REPORT,
        "experiment": f"{data['workload']} with {data['variant']}, replayed",
        "machine": {"name": "each machine", "cpus": shape.cpus, "clock_ghz": 0.0},
        "guest": shape.words,
        "names_resolved": True,
        "partial": any(variant["partial"] for variant in variants),
        "variants": variants,
        "provenance": {**tool_versions(), "trace_sha256": sha256_file(request.trace)},
    }
