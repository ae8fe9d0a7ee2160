# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the reports of `record`, `record replay`, `record show` and `kernel c2c`.

Builders return these types, the JSON is written from them, and report_of() reads it back.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Self

from msgspec import Meta, field

from common.formats import C2C
from model.results import lines, raw
from model.results.saved import (
    Count,
    Few,
    Interval,
    ModelError,
    NotNegative,
    Offset,
    Real,
    Saved,
    absent,
)

# More cycles than in a year, but small enough to be squared.
_LARGEST = 1e17
Figure = Annotated[float, Meta(ge=0.0, le=_LARGEST)]


class Frame(Saved, kw_only=True):
    """A function and its source line; ``own``: neither is a library's."""

    function: str
    source: str
    own: bool = True

    @property
    def words(self) -> str:
        """The function with its source line."""
        return f"{self.function} ({self.source})"


class Caller(Saved, kw_only=True):
    """The calls that led to an access, and the cycles that the access then took."""

    hitm: Count
    cycles: NotNegative
    calls: list[str]
    frames: list[Frame]


class Access(lines.Access, kw_only=True):
    """The accesses of one instruction to one place of a line, with the instruction's names."""

    store_cycles: NotNegative = absent(0.0)
    hitm_remote_share: Real
    hitm_local_share: Real
    store_share: Real
    symbol: str
    source: str
    field: str
    frames: list[Frame]

    @classmethod
    def named(
        cls, access: lines.Access, line: lines.Line, chain: Sequence[Frame], **more: Any
    ) -> Self:
        """Return an access of a line with its shares, the names of ``chain``, and ``more``."""
        return cls.made_from(
            access,
            hitm_remote_share=lines.part_of(access.hitm_remote, line.hitm_remote),
            hitm_local_share=lines.part_of(access.hitm_local, line.hitm_local),
            store_share=lines.part_of(access.stores, sum(other.stores for other in line.accesses)),
            symbol=" < ".join(frame.function for frame in chain) or access.pc,
            source=chain[0].source if chain else "?",
            **{"frames": list(chain), **more},
        )


class Line(lines.Line, kw_only=True):
    """A cache line with its object."""

    object: str
    type: str | None
    line: Offset
    offset: Offset
    store_cycles: NotNegative = absent(0.0)
    hitm_share: Real
    accesses: Sequence[Access]
    interval: Interval | None = None

    @property
    def place(self) -> str:
        """The line's object, followed by the line's offset in it unless that is 0."""
        return f"{self.object}{self.offset:+#x}" if self.offset > 0 else self.object


class Variant(Saved, kw_only=True):
    """The lines of a variant of an experiment, of a kernel, or of a machine."""

    name: str
    cpus: Count
    lines_total: Count
    hitm_total: Count
    lines: Sequence[Line]


class Described(Saved, kw_only=True):
    """A report's machine."""

    name: str
    cpus: Count
    clock_ghz: Real | None = None


class Report(Saved, kw_only=True):
    """A report on the cache lines of an experiment."""

    format: str = absent(C2C)
    experiment: str
    machine: Described
    names_resolved: bool = absent(True)
    model_error: list[ModelError] = field(default_factory=list)
    variants: Annotated[Sequence[Variant], Meta(min_length=1)]
    provenance: dict[str, str | Real | None]

    @property
    def validation(self) -> list[str]:
        """The sentences on what the model was validated with, each once."""
        return list(dict.fromkeys(error.said for error in self.model_error))


class ReplayedVariant(Variant, kw_only=True):
    """The lines of a kernel's run, replayed on a machine."""

    hitm_remote: Count
    hitm_local: Count
    model: raw.Model
    machine_sha256: str = absent("")


class Replayed(Report, kw_only=True):
    """A report on a kernel's run, replayed on other machines."""

    guest: str
    partial: bool
    variants: Annotated[Sequence[ReplayedVariant], Meta(min_length=1)]


class Hitm(Saved, kw_only=True):
    """Counts per wake-up of lines found modified in another core's cache."""

    hitm_remote: Real
    hitm_local: Real


class KernelVariant(Variant, kw_only=True):
    """The lines and the wake-ups of a kernel."""

    partial: bool
    wake_ups: Count
    hitm_a_wake_up: dict[str, Hitm]
    wake_ups_a_virtual_ms: Real
    operations: Count
    model: raw.Model
    stepping: raw.Stepping
    functions: list[raw.Function]
    vmlinux_sha256: str = absent("")
    log: str = absent("")


class Kernel(Report, kw_only=True):
    """A report on the cache lines of kernels in a guest."""

    guest: str
    partial: bool
    quantum: Count
    slow: Count
    variants: Annotated[Sequence[KernelVariant], Meta(min_length=1)]


class Allocated(Saved, kw_only=True):
    """An object on a line, and the calls that allocated it."""

    object: str
    allocated: list[Frame]


class RecordedAccess(Access, kw_only=True):
    """The accesses of one instruction of a program to one place of a line.

    ``own``: the number of the innermost frame that is the program's own.
    """

    own: Count | None
    on_cpus: list[Count]
    threads: list[int]
    callers: list[Caller] = absent([])

    def __post_init__(self) -> None:
        if self.own is not None and self.own >= len(self.frames):
            raise ValueError("own is not one of the frames")

    @property
    def place(self) -> tuple[str, str]:
        """The function and the source line, short enough for a line of a table.

        Of functions inlined into each other this is the innermost that belongs to the program or,
        if none does, the outermost one: the compiled function.
        """
        if len(self.frames) < 2:
            return self.symbol, self.source
        frame = self.frames[-1 if self.own is None else self.own]
        return frame.function, frame.source


class RecordedLine(Line, kw_only=True):
    """A cache line of a program."""

    kind: str
    process: int | None
    accesses: Sequence[RecordedAccess]
    sharing: str
    locked: Count
    cycles: NotNegative
    cycle_share: Real
    threads: list[int]
    allocated: list[Frame]
    beside: list[Allocated]


class Place(Saved, kw_only=True):
    """A line of the source."""

    file: str
    line: Count
    function: str


class Cost(Saved, kw_only=True):
    """A cache line in one run: its names, its cost, and the source line that accesses it."""

    object: str
    names: list[str]
    hitm: Figure
    cycles: Figure
    place: Place | None


class Run(Saved, kw_only=True):
    """The cost of one run on one machine, as a gate compares it."""

    threads: Count
    operations: Count
    work_cycles: Figure
    lines: list[Cost]

    def __post_init__(self) -> None:
        costs = [figure for line in self.lines for figure in (line.hitm, line.cycles)]
        if any(0 < figure < 1 / _LARGEST for figure in (self.work_cycles, *costs)):
            raise ValueError(f"a figure is neither 0 nor from {1 / _LARGEST:g} to {_LARGEST:g}")


class RecordedVariant(Variant, kw_only=True):
    """The lines of a program on a machine. ``at_lines``: the cycles of all shared lines.

    ``interval``: the intervals of HITM and of all cycles.
    """

    hitm_remote: Count
    hitm_local: Count
    work_cycles: NotNegative
    ns_per_operation: NotNegative | None = None
    at_lines: NotNegative
    model: raw.Model
    interval: dict[str, Interval] | None = None
    lines: Sequence[RecordedLine]
    machine_sha256: str
    runs: Annotated[list[Run], Meta(min_length=1)]


class Gain(Saved, kw_only=True):
    """The share of cycles that advice saves on a machine."""

    cycles_before: NotNegative
    cycles_after: NotNegative
    fewer: Real
    interval: Interval | None
    hitm_before: Count
    hitm_after: Count

    @property
    def shown(self) -> float:
        """The share to print: the median of the draws behind the interval, if there are any.

        The one run without draws may lie outside of their interval.
        """
        return self.fewer if self.interval is None else self.interval.median


class Advice(Saved, kw_only=True):
    """A change that would help, and its gain by machine.

    ``moved``: addresses, from and to, of the first bytes that get a line of their own.
    """

    object: str
    words: str
    edit: str
    bytes_moved: Count
    moved: list[tuple[Count, Count]]
    machines: dict[str, Gain]

    @property
    def change(self) -> str:
        """The change, and the edit of the source that makes it."""
        return f"{self.words}, with {self.edit}" if self.edit else self.words


class Waited(Saved, kw_only=True):
    """An object whose waits no layout removes: ``writers`` CPUs write the same bytes.

    ``advised``: there is advice for the object, and ``share`` is what remains after its gain.
    ``counter``: threads only add to the bytes.
    """

    object: str
    field: str
    machine: str
    writers: Count
    share: Real
    advised: bool
    counter: bool

    @property
    def words(self) -> str:
        """The cost, the cause, and what would help."""
        helps = "in any layout: " if self.advised else "padding cannot help; "
        helps += (
            "if threads only count in it, keep a count per thread, and let readers sum them"
            if self.counter
            else "shard it or use it less"
        )
        return (
            f"{self.share:.1%} of all cycles on {self.machine} wait for `{self.field}`, which "
            f"{self.writers} CPUs write{', ' if self.advised else ': '}{helps} "
            f"(a bound: {self.share:.1%} fewer cycles without these waits)"
        )


class Drawn(Saved, kw_only=True):
    """The number of samples behind the intervals, and their seed."""

    samples: Few
    seed: int


class Program(Saved, kw_only=True):
    """How the program ended: its status, a signal, or why a run was stopped."""

    status: int
    signal: str | None
    threads: Count
    processes: Count
    placement: str
    operations: Count
    compiler: str
    flags: str = absent("")
    stopped: str | None = None

    @property
    def failed(self) -> bool:
        """Whether the program, or a run that was asked for, failed."""
        return bool(self.status) or self.stopped is not None


class Recorded(Report, kw_only=True):
    """A report on the cache lines of a recorded program."""

    guest: str
    recorder: str
    partial: bool
    program: Program
    recording: raw.Stepping
    uncertainty: Drawn | None
    seeds: Few | None
    notes: list[str]
    limits: list[str]
    advised: bool
    advice: list[Advice]
    waits: list[Waited]
    variants: Annotated[list[RecordedVariant], Meta(min_length=1)]

    def __post_init__(self) -> None:
        gains = [gain for advice in self.advice for gain in advice.machines.values()]
        lines = [line for variant in self.variants for line in variant.lines]
        intervals = [*(gain.interval for gain in gains), *(line.interval for line in lines)]
        if any(intervals) and self.samples is None:
            raise ValueError("there are intervals, but neither uncertainty nor seeds")

    @property
    def samples(self) -> int | None:
        """The number of samples behind the intervals."""
        return self.uncertainty.samples if self.uncertainty is not None else self.seeds


def report_of(data: dict[str, Any]) -> Report:
    """Return a report, whose members show its kind; ValidationError if its form is wrong."""
    if "program" in data:
        return Recorded.of(data)
    if "quantum" in data:
        return Kernel.of(data)
    return Replayed.of(data) if "guest" in data else Report.of(data)
