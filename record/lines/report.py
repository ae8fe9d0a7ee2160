# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The stage c2c: shows the lines of a result as `perf c2c report` would.

The simulator gives program counters and offsets. Names come from the debug information of the same
binary, and only while it is unchanged.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from common.errors import check_names
from common.paths import is_elf, sim_binary
from common.provenance import sha256_file
from model.lines.dwarf import Layouts
from model.results.c2c import Access as Named
from model.results.c2c import Described, Line, Report, Variant
from model.results.lines import Access, CacheLine, part_of
from model.results.run import Result
from record.lines.symbols import Frame, resolve


@dataclass(frozen=True)
class C2cRequest:
    """Which variants of a result to show (none: the baseline), and how many lines per variant."""

    result: Result
    variants: tuple[str, ...] = ()
    lines: int = 5


@dataclass(frozen=True)
class Names:
    """The sources of names. Both are empty if another simulator made the result."""

    frames: dict[int, tuple[Frame, ...]]
    layouts: Layouts | None


def of_all_variants(result: Result, lines: int = 3) -> C2cRequest:
    """Return the request for every variant of a result."""
    return C2cRequest(result, tuple(variant.name for variant in result.variants), lines)


def selected(request: C2cRequest) -> list[tuple[str, int, list[CacheLine]]]:
    """Return what to show as (variant, CPUs, lines).

    A curve contributes its point with most threads. Pairs contribute the last one, which is the
    farthest pair of CPUs unless --from was given.
    """
    result = request.result
    points: dict[str, tuple[int, list[CacheLine]]] = {}
    for variant in result.variants:
        rows = [(row.among(variant.name, result.cpus)[1], row.lines) for row in variant.rows()]
        points[variant.name] = max(reversed(rows), key=itemgetter(0))
    first = result.baseline if result.baseline in points else next(iter(points))
    wanted = request.variants or (first,)
    check_names("variant in this result", wanted, points)
    return [(name, *points[name]) for name in wanted]


def find_names(request: C2cRequest) -> Names:
    """Return symbols and layouts of everything that will be shown."""
    binary = sim_binary()
    recorded = request.result.provenance.simulator_sha256
    if not binary.is_file() or recorded != sha256_file(binary) or not is_elf(binary):
        return Names({}, None)
    pcs: set[int] = set()
    types: set[str] = set()
    for _, _, lines in selected(request):
        for line in lines:
            types.add(line.type or "")
            pcs.update(_call(access.pc) for access in line.accesses)
    return Names(resolve(binary, pcs), Layouts(binary, types))


def _call(pc: str) -> int:
    """Return an address inside the access's instruction.

    The simulator reports where the access returns to, and that may belong to the next source line.
    """
    return int(pc, 16) - 1


def c2c(request: C2cRequest, names: Names) -> Report:
    """Return the report. Lines and their accesses are in order, the hottest first."""
    result = request.result
    return Report(
        experiment=result.experiment,
        machine=Described.made_from(result.machine),
        names_resolved=names.layouts is not None,
        variants=[
            Variant(
                name=name,
                cpus=cpus,
                lines_total=len(lines),
                hitm_total=sum(line.hitm for line in lines),
                lines=hottest(lines, request.lines, names),
            )
            for name, cpus, lines in selected(request)
        ],
        provenance=result.provenance.to_data(),
    )


def hottest(lines: Sequence[CacheLine], limit: int, names: Names) -> list[Line]:
    """Return the hottest lines of a variant, with their names."""
    total = sum(line.hitm for line in lines)
    ordered = sorted(lines, key=lambda line: (-line.hitm, -line.records, line.object, line.line))
    return [_line(line, total, names) for line in ordered[:limit]]


def _line(line: CacheLine, total: int, names: Names) -> Line:
    accesses = sorted(line.accesses, key=lambda a: (-a.hitm, -a.records, a.offset, a.pc))
    return Line.made_from(
        line,
        hitm_share=part_of(line.hitm, total),
        accesses=[_access(access, line, names) for access in accesses],
    )


def _access(access: Access, line: CacheLine, names: Names) -> Named:
    frames = names.frames.get(_call(access.pc), ())
    # The port layer's atomic operations perform the access; the report names their caller.
    callers = tuple(frame for frame in frames if not frame.source.startswith("port/")) or frames
    field = ""
    if names.layouts is not None and line.type:
        field = names.layouts.field(line.type, line.offset + access.offset)
    return Named.named(
        access, line, [frame.shown for frame in callers], field=field,
        frames=[frame.shown for frame in frames],
    )  # fmt: skip
