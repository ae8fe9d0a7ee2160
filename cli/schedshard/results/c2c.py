# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types that `c2c record`, `c2c replay`, `kernel c2c` and `c2c RESULT --json` save.

They only check the form of a report. Views read the saved JSON.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Meta, convert

from schedshard.results.saved import (
    Count,
    Few,
    Hex,
    Interval,
    NotNegative,
    Offset,
    Place,
    Real,
    Saved,
    Whole,
)


class Frame(Saved, kw_only=True):
    """A function and its source line."""

    function: str
    source: str


class Caller(Saved, kw_only=True):
    """The calls that led to an access, and the cycles of the access after them."""

    cycles: NotNegative
    frames: list[Frame]


class Access(Saved, kw_only=True):
    """The accesses of one instruction to one place of a line."""

    offset: Place
    size: Count
    kind: str
    pc: Hex
    records: Count
    loads: Count | None = None
    stores: Count | None = None
    store_cycles: NotNegative | None = None
    avg_load_cycles: NotNegative
    max_load_cycles: NotNegative
    cpus: Count
    hitm_remote_share: Real
    hitm_local_share: Real
    store_share: Real
    symbol: str
    source: str
    field: str
    frames: list[Frame]
    own: Count | None = None

    def __post_init__(self) -> None:
        if self.store_cycles is not None and None in (self.loads, self.stores):
            raise ValueError("store_cycles stand without loads and stores")
        if self.own is not None and self.own >= len(self.frames):
            raise ValueError("own is none of the frames")


class Line(Saved, kw_only=True):
    """A cache line with its accesses."""

    object: str
    type: str | None
    line: Offset
    offset: Offset
    home: Place
    records: Count
    loads: Count
    stores: Count
    hitm_remote: Count
    hitm_local: Count
    hitm_share: Real
    store_cycles: NotNegative | None = None
    avg_load_cycles: NotNegative
    max_load_cycles: NotNegative
    accesses: Sequence[Access]
    interval: Interval | None = None


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
    """A function and the number of its calls."""

    name: str
    calls: Count


class KernelVariant(Variant, kw_only=True):
    """The lines and the wake-ups of a kernel."""

    model: Model
    wake_ups: Count
    wake_ups_a_virtual_ms: Real
    hitm_a_wake_up: dict[str, Hitm]
    operations: Count
    stepping: Stepping
    functions: list[Function] | None = None


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
    callers: list[Caller] | None = None


class RecordedLine(Line, kw_only=True):
    """A cache line of a program."""

    accesses: Sequence[RecordedAccess]
    sharing: str
    locked: Count
    cycles: NotNegative
    cycle_share: Real
    threads: list[int]
    allocated: list[Frame]
    beside: list[Allocated] | None = None
    taken: list[Transfer] | None = None


class RecordedVariant(Variant, kw_only=True):
    """The lines of a program on a machine."""

    hitm_remote: Count
    hitm_local: Count
    work_cycles: NotNegative
    model: Model
    lines: Sequence[RecordedLine]
    caches: list[Cache] | None = None
    threads: Few | None = None
    machine: str | None = None

    def __post_init__(self) -> None:
        known = {each.cache for each in self.caches or ()}
        ends = {end for line in self.lines for t in line.taken or () for end in (t.source, t.to)}
        if not ends <= known:
            raise ValueError("a line was taken from a cache that is none of caches")
        if (self.threads is None) != (self.machine is None):
            raise ValueError("threads and machine do not stand together")


class Gain(Saved, kw_only=True):
    """The share of cycles that advice saves on a machine."""

    fewer: Real
    interval: Interval | None = None


class Advice(Saved, kw_only=True):
    """A change that would help, and its gain by machine."""

    words: str
    machines: dict[str, Gain]


class Latent(Saved, kw_only=True):
    """False sharing that would begin on a machine if objects began elsewhere."""

    words: str
    machine: str


class Drawn(Saved, kw_only=True):
    """The number of samples behind the intervals."""

    samples: Few


class Program(Saved, kw_only=True):
    """The signal that ended the program, if one did."""

    signal: str | None


class Steady(Saved, kw_only=True):
    """The steady part of the run, in instructions."""

    begin: Count
    end: Count
    instructions: Annotated[int, Meta(ge=1)]
    share: Real
    share_of_run: Real
    only: bool


class Recorded(Report, kw_only=True):
    """A report on the cache lines of a recorded program."""

    guest: str
    partial: bool
    program: Program
    uncertainty: Drawn | None = None
    seeds: Few | None = None
    steady: Steady | None = None
    notes: list[str]
    limits: list[str]
    advised: bool | None = None
    advice: list[Advice]
    latent: list[Latent] | None = None
    variants: Annotated[Sequence[RecordedVariant], Meta(min_length=1)]

    def __post_init__(self) -> None:
        gains = [gain for advice in self.advice for gain in advice.machines.values()]
        lines = [line for variant in self.variants for line in variant.lines]
        found = [*(gain.interval for gain in gains), *(line.interval for line in lines)]
        if any(found) and self.uncertainty is None and self.seeds is None:
            raise ValueError("there are intervals, but neither uncertainty nor seeds")


def kind_of(data: dict[str, Any]) -> type[Report]:
    """Return the type of a report's JSON."""
    if "program" in data:
        return Recorded
    variants = data.get("variants")
    known = (
        [each for each in variants if isinstance(each, dict)] if isinstance(variants, list) else []
    )
    if known and all("hitm_a_wake_up" in each for each in known):
        return Kernel
    return Replayed if "guest" in data else Report


def c2c_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return a report unchanged; ValidationError if its form is wrong."""
    convert(data, kind_of(data))
    return data


class LineCost(Saved, kw_only=True):
    """The cost of a line, as `c2c diff` reads it."""

    object: str
    hitm_remote: Count
    hitm_local: Count
    cycles: NotNegative


class RunCost(Saved, kw_only=True):
    """The cost of a program on a machine, as `c2c diff` reads it."""

    name: str
    work_cycles: NotNegative
    hitm_total: Count
    lines: list[LineCost]


class Compared(Saved, kw_only=True):
    """The part of a recording that `c2c diff` compares. Earlier versions saved it, too."""

    steady: dict[str, Any] | None = None
    variants: Annotated[list[RunCost], Meta(min_length=1)]


def recording_of(data: dict[str, Any]) -> dict[str, Any]:
    """Return a report unchanged; ValidationError for a recording that `c2c diff` cannot compare."""
    if "program" in data:
        convert(data, Compared)
    return data
