# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types that `record`, `record replay`, `kernel c2c` and `c2c RESULT --json` save."""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from model.results import lines
from model.results.saved import (
    Count,
    Few,
    Interval,
    NotNegative,
    Offset,
    Real,
    Saved,
    Whole,
    absent,
)

# Cycles of waiting stores that rank as high as one HITM, which takes at least as long.
_AS_LONG = 100


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
    """The calls that led to an access, and the cycles of the access after them."""

    hitm: Count = absent(0)
    cycles: NotNegative
    calls: list[str] = absent([])
    frames: list[Frame]


class Stalled(lines.Costs):
    """The figures of a line or an access that may contain stalls of stores."""

    stores: Count
    store_cycles: NotNegative | None

    @property
    def stored(self) -> float:
        """The cycles in which CPUs stalled on stores because a store buffer was full."""
        return self.store_cycles or 0.0

    @property
    def waited(self) -> float:
        """The cycles of all loads, and of stalls on stores."""
        return super().waited + self.stored

    @property
    def heat(self) -> float:
        """The rank: HITM, plus stalls on stores in units of HITM."""
        return self.hitm + self.stored / _AS_LONG

    @property
    def cycles_each(self) -> float:
        """The average cycles of one access. For experiments only loads are known."""
        if not self.stored:
            return self.avg_load_cycles
        return self.waited / (self.loads or self.stores or 1)


class Access(lines.Access, Stalled, kw_only=True):
    """The accesses of one instruction to one place of a line. Those of experiments lack counts."""

    stores: Count = absent(0)
    hitm_remote: Count = absent(0)
    hitm_local: Count = absent(0)
    store_cycles: NotNegative | None = None
    hitm_remote_share: Real
    hitm_local_share: Real
    store_share: Real
    symbol: str
    source: str
    field: str
    frames: list[Frame]
    own: Count | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        if self.store_cycles is not None and self.loads is None:
            raise ValueError("store_cycles are given without loads")
        if isinstance(self.own, int) and self.own >= len(self.frames):
            raise ValueError("own is not one of the frames")

    @property
    def place(self) -> tuple[str, str]:
        """The function and the source line, short enough for a line of a table.

        Of functions inlined into each other this is the innermost that belongs to the program or,
        if none does, the outermost one.
        """
        if self.own is UNSET or len(self.frames) < 2:
            return self.symbol, self.source
        # In a library: the compiled function, not one that was inlined into it.
        frame = self.frames[-1 if self.own is None else self.own]
        return frame.function, frame.source


class Line(lines.AnyLine, Stalled, kw_only=True):
    """A cache line with its accesses."""

    line: Offset
    offset: Offset
    hitm_share: Real
    store_cycles: NotNegative | None = None
    accesses: Sequence[Access]
    interval: Interval | None = None

    @property
    def place(self) -> str:
        """The line's object, followed by the line's offset in it unless that is 0."""
        return f"{self.object}{self.offset:+#x}" if self.offset > 0 else self.object


class Model(Saved, kw_only=True):
    """The times and the instructions of a run on the simulated machine."""

    virtual_ns: NotNegative
    busy_ns: NotNegative
    instructions: Count


class Variant(Saved, kw_only=True):
    """The lines of a variant of an experiment, of a kernel, or of a machine."""

    name: str
    cpus: Count
    lines_total: Count
    hitm_total: Count
    lines: Sequence[Line]


class Described(Saved, kw_only=True):
    """The name of a report's machine."""

    name: str


class Validated(Saved, kw_only=True):
    """A sentence on what the model was validated with."""

    said: str


class Report(Saved, kw_only=True):
    """A report on the cache lines of an experiment."""

    experiment: str
    machine: Described
    names_resolved: bool
    model_error: list[Validated] | None = None
    variants: Annotated[Sequence[Variant], Meta(min_length=1)]
    provenance: dict[str, str | Real | None]

    @property
    def validation(self) -> list[str]:
        """The sentences on what the model was validated with, each once."""
        return list(dict.fromkeys(each.said for each in self.model_error or ()))


class ReplayedVariant(Variant, kw_only=True):
    """The lines of a kernel's run, replayed on a machine."""

    hitm_remote: Count
    hitm_local: Count
    model: Model


class Replayed(Report, kw_only=True):
    """A report on a kernel's run, replayed on other machines."""

    guest: str
    partial: bool
    variants: Annotated[Sequence[ReplayedVariant], Meta(min_length=1)]


class Hitm(Saved, kw_only=True):
    """Counts per wake-up of lines found modified in another core's cache."""

    hitm_remote: Real
    hitm_local: Real


class Stepping(Saved, kw_only=True):
    """How often the emulator's CPUs waited for each other."""

    accesses_reported: Count
    waits: Count
    timeouts: Count
    window_seconds: NotNegative


class Function(Saved, kw_only=True):
    """A function, its calls, and their instructions with those of what it calls."""

    name: str
    calls: Count
    instructions: Count = 0
    locked: Count = 0


class KernelVariant(Variant, kw_only=True):
    """The lines and the wake-ups of a kernel."""

    model: Model
    wake_ups: Count
    wake_ups_a_virtual_ms: Real
    hitm_a_wake_up: dict[str, Hitm]
    operations: Count
    stepping: Stepping
    functions: list[Function] = absent([])
    partial: bool = False
    load_cycles: NotNegative = 0.0


class Kernel(Report, kw_only=True):
    """A report on the cache lines of kernels in a guest."""

    guest: str
    partial: bool
    quantum: Count
    variants: Annotated[Sequence[KernelVariant], Meta(min_length=1)]


class Allocated(Saved, kw_only=True):
    """An object on a line, and the calls that allocated it."""

    object: str
    allocated: list[Frame]


class Transfer(Saved, kw_only=True, rename={"source": "from"}):
    """How often one cache took a line from another."""

    source: int
    to: int
    hitm: Whole


class Cache(Saved, kw_only=True):
    """A last-level cache and its CPUs."""

    cache: int
    cpus: Annotated[list[Count], Meta(min_length=1)]


class RecordedAccess(Access, kw_only=True):
    """The accesses of one instruction of a program to one place of a line."""

    loads: Count
    stores: Count
    hitm_remote: Count
    hitm_local: Count
    threads: list[int]
    callers: list[Caller] = absent([])


class RecordedLine(Line, kw_only=True):
    """A cache line of a program."""

    address: str = ""
    kind: str = absent("unknown")
    accesses: Sequence[RecordedAccess]
    sharing: str
    locked: Count
    cycles: NotNegative
    cycle_share: Real
    threads: list[int]
    allocated: list[Frame]
    beside: list[Allocated] = absent([])
    taken: list[Transfer] = absent([])


class RecordedVariant(Variant, kw_only=True):
    """The lines of a program on a machine."""

    hitm_remote: Count
    hitm_local: Count
    work_cycles: NotNegative
    ns_per_operation: NotNegative | None = None
    model: Model
    lines: Sequence[RecordedLine]
    at_lines: NotNegative | None = None
    caches: list[Cache] = absent([])
    threads: Few | None = None
    machine: str | None = None

    @property
    def waited(self) -> float:
        """The cycles of all shared lines; those of the reported ones in an earlier report."""
        if self.at_lines is not None:
            return self.at_lines
        return sum(line.cycles for line in self.lines if len(line.threads) > 1)

    def __post_init__(self) -> None:
        known = {each.cache for each in self.caches}
        ends = {end for line in self.lines for t in line.taken for end in (t.source, t.to)}
        if not ends <= known:
            raise ValueError("a line was taken from a cache that is not one of caches")
        if (self.threads is None) != (self.machine is None):
            raise ValueError("threads and machine must both be given, or neither")


class Gain(Saved, kw_only=True):
    """The share of cycles that advice saves on a machine."""

    cycles_before: NotNegative = absent(0.0)
    cycles_after: NotNegative = absent(0.0)
    fewer: Real
    interval: Interval | None = absent(None)
    hitm_before: Count = absent(0)
    hitm_after: Count = absent(0)

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

    object: str = absent("")
    words: str
    edit: str = absent("")
    bytes_moved: Count = absent(0)
    moved: list[tuple[Count, Count]] = field(default_factory=list)
    machines: dict[str, Gain]

    @property
    def said(self) -> str:
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
    advised: bool = absent(False)
    counter: bool = absent(False)

    @property
    def words(self) -> str:
        """The cost, the cause, and what would help."""
        helps = "in any layout: " if self.advised else "padding cannot help; "
        helps += (
            "keep a count per thread, and let readers sum them"
            if self.counter
            else "shard it or use it less"
        )
        return (
            f"{self.share:.1%} of all cycles on {self.machine} wait for `{self.field}`, which "
            f"{self.writers} CPUs write{', ' if self.advised else ': '}{helps} "
            f"(a bound: {self.share:.1%} fewer cycles without these waits)"
        )


class Drawn(Saved, kw_only=True):
    """The number of samples behind the intervals."""

    samples: Few


class Program(Saved, kw_only=True):
    """How the program ended: its status, a signal, or why a run was stopped."""

    status: int
    signal: str | None
    placement: str
    stopped: str | None = None
    compiler: str = absent("")

    @property
    def failed(self) -> bool:
        """Whether the program, or a run that was asked for, failed."""
        return bool(self.status) or self.stopped is not None


class Recorded(Report, kw_only=True):
    """A report on the cache lines of a recorded program."""

    guest: str
    partial: bool
    program: Program
    uncertainty: Drawn | None = None
    seeds: Few | None = None
    notes: list[str]
    limits: list[str]
    advised: bool = absent(True)
    advice: list[Advice]
    waits: list[Waited] = absent([])
    variants: Annotated[Sequence[RecordedVariant], Meta(min_length=1)]

    def __post_init__(self) -> None:
        gains = [gain for advice in self.advice for gain in advice.machines.values()]
        lines = [line for variant in self.variants for line in variant.lines]
        found = [*(gain.interval for gain in gains), *(line.interval for line in lines)]
        if any(found) and self.samples is None:
            raise ValueError("there are intervals, but neither uncertainty nor seeds")

    @property
    def samples(self) -> int | None:
        """The number of samples behind the intervals."""
        return self.uncertainty.samples if self.uncertainty is not None else self.seeds

    @property
    def by_threads(self) -> bool:
        """Whether each variant was recorded with one number of threads."""
        return all(variant.threads is not None for variant in self.variants)


def report_of(data: dict[str, Any]) -> Report:
    """Return a report, whose members show its kind; ValidationError if its form is wrong."""
    if "program" in data:
        return Recorded.of(data)
    known = data.get("variants")
    variants = [each for each in known if isinstance(each, dict)] if isinstance(known, list) else []
    if variants and all("hitm_a_wake_up" in each for each in variants):
        return Kernel.of(data)
    return Replayed.of(data) if "guest" in data else Report.of(data)
