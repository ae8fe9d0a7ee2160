# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Stage c2c: the lines of a result as `perf c2c report` would show them.

The simulator gives program counters and offsets; names come from the same binary's debug
information, and only while it is the same binary.
"""

from dataclasses import dataclass
from typing import Any

from schedshard.common.errors import UserError, check_names
from schedshard.common.paths import is_elf, sim_binary
from schedshard.common.provenance import sha256_file
from schedshard.common.result import C2C, is_curve, is_pairs
from schedshard.lines.dwarf import Layouts
from schedshard.lines.symbols import Frame, resolve


@dataclass(frozen=True)
class C2cRequest:
    """Which variants of a result to show (none: the baseline), and how many lines of each."""

    result: dict[str, Any]
    variants: tuple[str, ...] = ()
    lines: int = 5


@dataclass(frozen=True)
class Names:
    """The source of names; both empty when another simulator made the result."""

    frames: dict[int, tuple[Frame, ...]]
    layouts: Layouts | None


def of_all_variants(result: dict[str, Any], lines: int = 3) -> C2cRequest:
    """Every variant of a result."""
    return C2cRequest(result, tuple(variant["name"] for variant in result["variants"]), lines)


def selected(request: C2cRequest) -> list[tuple[str, int, list[dict[str, Any]]]]:
    """(variant, CPUs, lines) to show; of a curve its point with most threads.

    Of pairs the last one, which are the two CPUs farthest apart unless --from was given.
    """
    result = request.result
    by_name = {variant["name"]: variant for variant in result["variants"]}
    wanted = request.variants
    if not wanted and by_name:
        first = str(result.get("baseline"))
        wanted = (first if first in by_name else next(iter(by_name)),)
    shown = []
    check_names("variant in this result", wanted, by_name)
    for name in wanted:
        variant = by_name[name]
        cpus = int(result.get("cpus", 0))
        if is_curve(result):
            variant = max(variant["points"], key=lambda point: point["threads"])
            cpus = int(variant["threads"])
        elif is_pairs(result):
            variant, cpus = variant["points"][-1], 2
        shown.append((name, cpus, list(variant.get("lines", []))))
    return shown


def find_names(request: C2cRequest) -> Names:
    """Symbols and layouts of everything that will be shown."""
    binary = sim_binary()
    recorded = request.result["provenance"].get("simulator_sha256")
    if not binary.is_file() or recorded != sha256_file(binary) or not is_elf(binary):
        return Names({}, None)
    pcs: set[int] = set()
    types: set[str] = set()
    for _, _, lines in selected(request):
        for line in lines:
            types.add(str(line.get("type", "")))
            pcs.update(_call(access["pc"]) for access in line["accesses"])
    return Names(resolve(binary, pcs), Layouts(binary, types))


def _call(pc: str) -> int:
    """An address inside the access: the simulator sees where the access returns to.

    The instruction there may belong to the next source line.
    """
    return int(pc, 16) - 1


def c2c(request: C2cRequest, names: Names) -> dict[str, Any]:
    """The report as data: hottest lines first, each with its accesses, hottest first."""
    try:
        return {
            "format": C2C,
            "experiment": request.result["experiment"],
            "machine": request.result["machine"],
            "names_resolved": names.layouts is not None,
            "variants": [
                variant_report(name, cpus, lines, request.lines, names)
                for name, cpus, lines in selected(request)
            ],
            "provenance": request.result["provenance"],
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"the result is damaged: its lines lack {error}") from error


def variant_report(
    name: str, cpus: int, lines: list[dict[str, Any]], limit: int, names: Names
) -> dict[str, Any]:
    """One variant: its hottest lines."""
    total = sum(line["hitm_remote"] + line["hitm_local"] for line in lines)
    ordered = sorted(
        lines,
        key=lambda line: (
            -(line["hitm_remote"] + line["hitm_local"]),
            -line["records"],
            str(line["object"]),
            line["line"],
        ),
    )
    return {
        "name": name,
        "cpus": cpus,
        "lines_total": len(lines),
        "hitm_total": total,
        "lines": [_line(line, total, names) for line in ordered[:limit]],
    }


# Figures that the report has as the result has them.
_CYCLES = ("avg_load_cycles", "max_load_cycles")
_LINE = ("records", "loads", "stores", "hitm_remote", "hitm_local", *_CYCLES)
_ACCESS = ("offset", "size", "kind", "pc", "records", *_CYCLES, "cpus")


def _share(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _line(line: dict[str, Any], total: int, names: Names) -> dict[str, Any]:
    accesses = sorted(
        line["accesses"],
        key=lambda a: (-(a["hitm_remote"] + a["hitm_local"]), -a["records"], a["offset"], a["pc"]),
    )
    stores = sum(access["stores"] for access in accesses)
    return {
        "object": line["object"],
        "type": line.get("type", ""),
        "line": line["line"],
        "offset": line["offset"],
        "home": line["home"],
        "hitm_share": _share(line["hitm_remote"] + line["hitm_local"], total),
        **{key: line[key] for key in _LINE},
        "accesses": [_access(access, line, stores, names) for access in accesses],
    }


def _access(
    access: dict[str, Any], line: dict[str, Any], stores: int, names: Names
) -> dict[str, Any]:
    frames = names.frames.get(_call(access["pc"]), ())
    # The atomic operations of the port layer are the access; the report names their caller.
    callers = tuple(frame for frame in frames if not frame.source.startswith("port/")) or frames
    field = ""
    if names.layouts is not None and line.get("type"):
        offset = int(line["offset"]) + int(access["offset"])
        field = names.layouts.field(str(line["type"]), offset)
    return {
        "hitm_remote_share": _share(access["hitm_remote"], line["hitm_remote"]),
        "hitm_local_share": _share(access["hitm_local"], line["hitm_local"]),
        "store_share": _share(access["stores"], stores),
        **{key: access[key] for key in _ACCESS},
        "symbol": " < ".join(frame.function for frame in callers) or access["pc"],
        "source": callers[0].source if callers else "?",
        "frames": [frame.to_json() for frame in frames],
        "field": field,
    }
