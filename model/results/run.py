# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the types that `run`, `bench primitives` and `bench ping-pong` save.

Bars compare variants by the cost of an operation, Figures by several figures that the experiment
names. A Curve has a point per number of threads, Pairs have a point per pair of CPUs.

What differs between these kinds is a method here or, for what a terminal and a page show, the entry
of KINDS in tables/results.py that the member ``form`` selects.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from msgspec import Meta, ValidationError, convert

from common.formats import LIVE, RUN
from model.results.rows import (
    Bar,
    FigureVariant,
    Key,
    Metric,
    PairPoint,
    Swept,
    ThreadPoint,
)
from model.results.saved import (
    Count,
    Few,
    Interval,
    Machine,
    ModelError,
    NotNegative,
    Provenance,
    Real,
    Saved,
    absent,
)
from model.results.uncertainty import Uncertainty

# A table has a row per number of threads if there are at most this many curves, else one per curve.
FEW_CURVES = 3


class PublishedLine(Saved, kw_only=True):
    """Published cycles per load of one line; with samples, whether they overlap ``interval``."""

    variant: str
    object: str
    line: Count
    low: Real
    high: Real
    interval: Interval | None = None
    overlaps: bool | None = None


class Published(Saved, kw_only=True):
    """The source of figures published for the same machine, and their role."""

    source: str
    role: str
    lines: list[PublishedLine] | None = None


class CurveBand(Saved, kw_only=True):
    """The largest accepted median and single error of a curve, from a number of threads on."""

    median: NotNegative
    worst: NotNegative
    from_threads: Count


class PairsBand(Saved, kw_only=True):
    """The largest accepted error of a pair."""

    within: NotNegative


class PublishedCurve(Published, kw_only=True):
    """Published figures of a curve."""

    accept: CurveBand | None = None


class PublishedPairs(Published, kw_only=True):
    """Published figures of pairs."""

    accept: PairsBand | None = None


class ParamSource(Saved, kw_only=True):
    """The unit and the origin of an input."""

    unit: str
    source: str


class Simulator(Saved, kw_only=True):
    """The number of simulated events, and the CPU seconds that they took."""

    events: Count
    seconds: NotNegative


class Host(Saved, kw_only=True):
    """The host of a measurement."""

    cpu: str = "unknown"
    virtual: bool | None = None
    arch: str = "unknown"
    kernel: str = "unknown"
    cpus_allowed: Count | None = None
    compiler: str | None = None


class Run(Saved, kw_only=True):
    """The members of every kind of result; measurements set ``label``, ``host``, ``left_out``.

    ``ROWS`` is the head of a column that names rows, and ``TURNS`` says which CPUs take turns.
    """

    ROWS: ClassVar[str] = "variant"
    TURNS: ClassVar[str] = ""

    format: str
    label: str = "predicted"
    experiment: str
    title: str
    machine: Machine
    host: Host | None = None
    cpus: Few
    placement: str
    cap: Few | None
    baseline: str
    metrics: list[Metric] | None = None
    sweep: str | None = None
    variants: Sequence[Any]
    model_error: list[ModelError] = absent([])
    left_out: Count | None = None
    hold_ns: NotNegative | None = None
    work_ns: NotNegative | None = None
    objects: Count | None = None
    home: Count | None = None
    published: Published | None = None
    params: dict[str, Real] = absent({})
    param_sources: dict[str, ParamSource] = absent({})
    simulator: Simulator = absent(Simulator(events=0, seconds=0.0))
    provenance: Provenance
    uncertainty: Uncertainty | None = None

    @property
    def measured(self) -> bool:
        """Whether the result was measured, not predicted."""
        return self.format == LIVE

    @property
    def of_cpus(self) -> str:
        """The number of CPUs that took part, in words."""
        return self.TURNS or f"{self.cpus} CPUs"

    @property
    def cpus_words(self) -> str:
        """The number of the machine's CPUs that took part, in words."""
        return self.TURNS or f"{self.cpus} of {self.machine.cpus} CPUs"

    @property
    def form(self) -> str:
        """The kind of the result, by which other packages choose how to show the result."""
        return type(self).__name__.lower()

    @property
    def comparing(self) -> Sequence[str]:
        """The figures by which variants are compared in a plot; none if they have points."""
        return ()

    @property
    def columns(self) -> Sequence[tuple[str | None, str]]:
        """The columns of a table: each a figure, with its variant if it belongs to only one."""
        return [(variant.name, "ns_per_op") for variant in self.variants]

    @property
    def published_lines(self) -> Sequence[PublishedLine]:
        """The published figures of single lines."""
        return (self.published and self.published.lines) or ()

    @property
    def samples(self) -> Uncertainty:
        """The uncertainty; ValueError if the result has none."""
        if self.uncertainty is None:
            raise ValueError("the result has no samples")
        return self.uncertainty


class Bars(Run, kw_only=True):
    """Variants compared by the cost of an operation, relative to the baseline."""

    variants: Annotated[list[Bar], Meta(min_length=1)]

    @property
    def comparing(self) -> Sequence[str]:
        """The cost relative to the baseline."""
        return ("relative",)

    @property
    def columns(self) -> Sequence[tuple[str | None, str]]:
        """The costs of all variants."""
        return [(None, name) for name in ("cycles_per_op", "relative", "cycles_per_read")]

    @property
    def headlines(self) -> set[Key]:
        """The relative cost of each variant; of the baseline, and without one, the cost."""
        return {
            (v.name, None, "cycles_per_op" if v.name == self.baseline or v.relative is None else
             "relative")
            for v in self.variants
        }  # fmt: skip


class Curve(Run, kw_only=True):
    """Variants over the number of threads."""

    ROWS: ClassVar[str] = "threads"

    sweep: str
    variants: Annotated[list[Swept[ThreadPoint]], Meta(min_length=1)]
    published: PublishedCurve | None = None

    @property
    def form(self) -> str:
        """The kind of the result: "curves" if it has many, or measured ones, else "curve"."""
        return "curve" if len(self.variants) <= FEW_CURVES and not self.measured else "curves"

    @property
    def headlines(self) -> set[Key]:
        """The cost at the largest number of threads."""
        return {(v.name, v.points[-1].place, "ns_per_op") for v in self.variants}


class Pairs(Run, kw_only=True):
    """Variants by pair of CPUs."""

    ROWS: ClassVar[str] = "class, CPUs"
    TURNS: ClassVar[str] = "two CPUs at a time"

    sweep: str
    variants: Annotated[list[Swept[PairPoint]], Meta(min_length=1)]
    published: PublishedPairs | None = None

    @property
    def headlines(self) -> set[Key]:
        """The cost of the first pair of each latency class."""
        points = [point for variant in self.variants for point in variant.points]
        first = {point.latency_class: point.place for point in reversed(points)}
        return {(v.name, place, "ns_per_op") for v in self.variants for place in first.values()}


class Figures(Run, kw_only=True):
    """Variants compared by all figures of the experiment."""

    metrics: Annotated[list[Metric], Meta(min_length=1)]
    variants: Annotated[list[FigureVariant], Meta(min_length=1)]

    @property
    def comparing(self) -> Sequence[str]:
        """All figures of the experiment."""
        return [metric.name for metric in self.metrics]

    @property
    def columns(self) -> Sequence[tuple[str | None, str]]:
        """All figures of the experiment, of all variants."""
        return [(None, name) for name in self.comparing]

    @property
    def headlines(self) -> set[Key]:
        """The figures that were published for any variant, otherwise the first one.

        Figures that are true by definition are left out.
        """
        known = {name for v in self.variants for name in v.published}
        names = [name for name in self.comparing if name in known] or self.comparing[:1]
        return {
            (v.name, None, name)
            for v in self.variants
            for name, value, _, given in v.figures(self.metrics, v.name == self.baseline)
            if name in names and value is not None and not given
        }

    def to_data(self) -> dict[str, Any]:
        """Return the result as it is saved in JSON."""
        data = super().to_data()
        data["variants"] = [
            {key: value for name, member in variant.items()
             for key, value in (member.items() if name == "values" else ((name, member),))}
            for variant in data["variants"]
        ]  # fmt: skip
        return data


# The kinds of result that `run` saves.
Result = Bars | Curve | Pairs | Figures

SWEPT: dict[str, type[Curve | Pairs]] = {"threads": Curve, "pairs": Pairs}


def run_of(data: dict[str, Any]) -> Result:
    """Return the result in a file's JSON; ValidationError if its form is wrong."""
    sweep = data.get("sweep")
    result: Result
    if "metrics" in data:
        result = convert({**data, "variants": _with_values(data)}, Figures)
    elif sweep is None:
        result = convert(data, Bars)
    elif sweep in tuple(SWEPT):
        result = convert(data, SWEPT[sweep])
    else:
        raise ValidationError(f"sweep is {sweep!r}, which is not one of {list(SWEPT)}")
    for name in ("params", "param_sources", "simulator") if result.format == RUN else ():
        if name not in data:
            raise ValidationError(f"'{name}' is missing")
    return result


def measured_of(data: dict[str, Any]) -> Curve | Pairs:
    """Return a measurement; ValidationError for another result, or without spread and rounds."""
    result = run_of(data)
    if not isinstance(result, Curve | Pairs) or result.host is None:
        raise ValidationError("a measurement has a sweep and a host")
    if any(p.low is None or p.rounds is None for row in result.variants for p in row.points):
        raise ValidationError("a point has no low, high and rounds")
    return result


def _with_values(data: dict[str, Any]) -> list[Any]:
    """Return the variants of Figures, each with its values moved into the member ``values``."""
    names = [metric.name for metric in convert(data["metrics"], list[Metric])]
    variants: list[Any] = []
    for variant in convert(data.get("variants"), list[dict[str, Any]]):
        lacking = [name for name in names if name not in variant]
        if lacking:
            raise ValidationError(f"'{lacking[0]}' is missing - at `$.variants[{len(variants)}]`")
        variants.append({**variant, "values": {name: variant[name] for name in names}})
    return variants
