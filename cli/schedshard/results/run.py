# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types that `run` saves. `bench primitives` and `bench ping-pong` save theirs in this form.

Bars compare variants by the cost of an operation, Figures by several figures that the experiment
names. A Curve has a point per number of threads, Pairs have a point per pair of CPUs. A row is the
part with predicted figures: a variant of Bars or Figures, or a point.
"""

from collections.abc import Sequence
from statistics import median
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, TypeVar

from msgspec import UNSET, Meta, UnsetType, ValidationError, convert

from schedshard.common.formats import LIVE, RUN
from schedshard.results.lines import CacheLine, Layout
from schedshard.results.saved import (
    Count,
    Few,
    Interval,
    Machine,
    ModelError,
    NotNegative,
    Positive,
    Provenance,
    Real,
    Saved,
    absent,
)
from schedshard.results.uncertainty import Uncertainty

# The place of a row: a number of threads, a pair, or None for a variant.
RowPlace = int | str | None


class _Compared:
    """A row with an interval per figure; ``interval`` repeats that of the first figure."""

    FIGURES: ClassVar[tuple[str, ...]]
    intervals: dict[str, Interval] | None
    interval: Interval | None
    published_inside: bool | None

    def found(self, figure: str) -> Interval | None:
        """Return the interval of a figure; None without one."""
        return (self.intervals or {}).get(figure)

    def inside(self, figure: str) -> bool | None:
        """Whether the published figure lies in the interval; None: not judged."""
        return self.published_inside

    def keep(self, figure: str, found: Interval, inside: bool | None) -> None:
        """Store the interval of a figure, and whether the published figure lies in it."""
        self.intervals = {**(self.intervals or {}), figure: found}
        if figure == self.FIGURES[0]:
            self.interval, self.published_inside = found, inside


class Bar(Saved, _Compared, kw_only=True):
    """A variant of Bars."""

    FIGURES: ClassVar[tuple[str, ...]] = (
        "relative", "cycles_per_op", "ns_per_op", "cycles_per_read",
    )  # fmt: skip
    place: ClassVar[RowPlace] = None

    name: str
    title: str
    cycles_per_op: Positive
    ns_per_op: Positive
    relative: Positive | None
    published: Positive | None
    published_var: Real | UnsetType | None = UNSET
    error: Real | UnsetType | None = UNSET
    accept: str | None = None
    accepted: bool | None = None
    lacks: str | None = None
    cycles_per_read: NotNegative | None = None
    metrics: dict[str, Real]
    lines: list[CacheLine]
    intervals: dict[str, Interval] | None = None
    interval: Interval | None = None
    published_inside: bool | None = None

    def __post_init__(self) -> None:
        if (self.accept is None) != (self.accepted is None):
            raise ValueError("accept and accepted must both be given, or neither")
        if self.accept is not None and None in (self.relative, self.published):
            raise ValueError("accept is given without relative and published")

    def rows(self) -> Sequence["Bar"]:
        """Return the rows of the variant: itself."""
        return (self,)


class Metric(Saved, kw_only=True):
    """A figure of Figures. In the unit percent its values are fractions."""

    name: str
    title: str
    unit: str
    relative_to_baseline: bool


class FigureVariant(Saved, kw_only=True):
    """A variant of Figures. In the JSON each of ``values`` is a member of the variant."""

    place: ClassVar[RowPlace] = None

    name: str
    title: str
    values: dict[str, Real | None]
    published: dict[str, Real]
    error: dict[str, Real]
    accept: dict[str, Real] | None = None
    accepted: bool | None = None
    lacks: str | None = None
    calibrated: list[str] | None = None
    metrics: dict[str, Real]
    lines: list[CacheLine]
    interval: dict[str, Interval] | None = None
    published_inside: dict[str, bool] | None = None

    def rows(self) -> Sequence["FigureVariant"]:
        """Return the rows of the variant: itself."""
        return (self,)

    def found(self, figure: str) -> Interval | None:
        """Return the interval of a figure; None without one."""
        return (self.interval or {}).get(figure)

    def inside(self, figure: str) -> bool | None:
        """Whether the published figure lies in the interval; None: not judged."""
        return (self.published_inside or {}).get(figure)

    def keep(self, figure: str, found: Interval, inside: bool | None) -> None:
        """Store the interval of a figure, and whether the published figure lies in it."""
        self.interval = {**(self.interval or {}), figure: found}
        if inside is not None:
            self.published_inside = {**(self.published_inside or {}), figure: inside}


class Compared(NamedTuple):
    """A published figure with its range, and the error of the prediction."""

    published: float
    low: float
    high: float
    error: float


# The JSON's names of a latency class and its two CPUs.
PAIR = {"latency_class": "class", "first": "from", "second": "to"}


class Point(
    Saved,
    _Compared,
    kw_only=True,
    rename=PAIR,
):
    """A point of a curve or of pairs. A measured one contains the spread of its rounds."""

    FIGURES: ClassVar[tuple[str, ...]] = ("ns_per_op", "cycles_per_op")

    threads: Few | None = None
    latency_class: str | None = None
    first: Count | None = None
    second: Count | None = None
    ns_per_op: Positive
    cycles_per_op: Positive | None = None
    min: Real | None = None
    max: Real | None = None
    low: Real | None = None
    high: Real | None = None
    rounds: Count | None = None
    disturbed: Count | None = None
    all_disturbed: bool | None = None
    published: Positive | None = None
    published_low: Positive | None = None
    published_high: Positive | None = None
    error: Real | None = None
    metrics: dict[str, Real]
    lines: list[CacheLine] = absent([])
    intervals: dict[str, Interval] | None = None
    interval: Interval | None = None
    published_inside: bool | None = None

    def __post_init__(self) -> None:
        known = (self.published, self.published_low, self.published_high, self.error)
        if self.compared is None and known != (None,) * 4:
            raise ValueError("published, its ends and error must all be given, or none")

    @property
    def place(self) -> RowPlace:
        """The number of threads or the pair: unique in a variant."""
        raise NotImplementedError

    @property
    def compared(self) -> Compared | None:
        """The published figure of the point; None without one."""
        published, low, high, error = (
            self.published, self.published_low, self.published_high, self.error,
        )  # fmt: skip
        if published is None or low is None or high is None or error is None:
            return None
        return Compared(published, low, high, error)

    @property
    def spread(self) -> tuple[float, float]:
        """The 10th and 90th percentile of the rounds. For a prediction, both are its time."""
        if self.low is None or self.high is None:
            return self.ns_per_op, self.ns_per_op
        return self.low, self.high

    def compare(self, published: float, low: float, high: float) -> None:
        """Add a published figure, its range and the error to the point."""
        self.published, self.published_low, self.published_high = published, low, high
        self.error = self.ns_per_op / published - 1.0


class ThreadPoint(Point, kw_only=True):
    """A point of a curve."""

    threads: Few

    @property
    def place(self) -> RowPlace:
        """The number of threads."""
        return self.threads


class PairPoint(Point, kw_only=True):
    """A point of Pairs: two CPUs that take turns."""

    latency_class: str
    first: Count
    second: Count

    @property
    def place(self) -> RowPlace:
        """The latency class and the two CPUs."""
        return f"{self.latency_class} {self.first}-{self.second}"


AnyPoint = TypeVar("AnyPoint", ThreadPoint, PairPoint)


class Swept(Saved, Generic[AnyPoint], kw_only=True):
    """A variant of a Curve or of Pairs: its points."""

    name: str
    title: str
    points: Annotated[list[AnyPoint], Meta(min_length=1)]
    median_error: NotNegative | None = None
    worst_error: NotNegative | None = None
    accepted: bool | None = None

    def __post_init__(self) -> None:
        errors = (self.median_error, self.worst_error)
        if None in errors and (errors != (None, None) or self.accepted is not None):
            raise ValueError("median_error, worst_error and accepted must all be given, or none")

    @property
    def compared(self) -> Sequence[tuple[AnyPoint, Compared]]:
        """The points with published figures, each with that figure."""
        return [(p, known) for p in self.points if (known := p.compared) is not None]

    def judge(self, errors: Sequence[float]) -> tuple[float, float]:
        """Set and return the median and the worst of the errors of the points."""
        self.median_error, self.worst_error = float(median(errors)), float(max(errors))
        return self.median_error, self.worst_error

    def rows(self) -> Sequence[AnyPoint]:
        """Return the rows of the variant: its points."""
        return self.points


Row = Bar | FigureVariant | ThreadPoint | PairPoint
AnyVariant = Bar | FigureVariant | Swept[ThreadPoint] | Swept[PairPoint]


class PublishedLine(Saved, kw_only=True):
    """Published cycles per load of one line; with samples, whether both ranges overlap."""

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
    """The members of every kind of result; measurements set ``label``, ``host``, ``left_out``."""

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
    layouts: dict[str, Layout] = absent({})
    param_sources: dict[str, ParamSource] = absent({})
    simulator: Simulator = absent(Simulator(events=0, seconds=0.0))
    provenance: Provenance
    uncertainty: Uncertainty | None = None

    @property
    def measured(self) -> bool:
        """Whether the result was measured, not predicted."""
        return self.format == LIVE

    @property
    def cpus_words(self) -> str:
        """The number of the machine's CPUs that took part, in words."""
        return f"{self.cpus} of {self.machine.cpus} CPUs"

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


class Curve(Run, kw_only=True):
    """Variants over the number of threads."""

    sweep: str
    variants: Annotated[list[Swept[ThreadPoint]], Meta(min_length=1)]
    published: PublishedCurve | None = None


class Pairs(Run, kw_only=True):
    """Variants by pair of CPUs."""

    sweep: str
    variants: Annotated[list[Swept[PairPoint]], Meta(min_length=1)]
    published: PublishedPairs | None = None

    @property
    def cpus_words(self) -> str:
        """The number of CPUs of each pair, in words."""
        return "two CPUs at a time"


class Figures(Run, kw_only=True):
    """Variants compared by all figures of the experiment."""

    metrics: Annotated[list[Metric], Meta(min_length=1)]
    variants: Annotated[list[FigureVariant], Meta(min_length=1)]

    def to_data(self) -> dict[str, Any]:
        """Return the result as it is saved in JSON."""
        data = super().to_data()
        data["variants"] = [
            {key: value for name, each in variant.items()
             for key, value in (each.items() if name == "values" else ((name, each),))}
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
    if any(p.low is None or p.rounds is None for each in result.variants for p in each.points):
        raise ValidationError("a point has no low, high and rounds")
    return result


def _with_values(data: dict[str, Any]) -> list[Any]:
    """Return the variants of Figures, each with its values moved into the member ``values``."""
    names = [metric.name for metric in convert(data["metrics"], list[Metric])]
    found: list[Any] = []
    for variant in convert(data.get("variants"), list[dict[str, Any]]):
        lacking = [name for name in names if name not in variant]
        if lacking:
            raise ValidationError(f"'{lacking[0]}' is missing - at `$.variants[{len(found)}]`")
        found.append({**variant, "values": {name: variant[name] for name in names}})
    return found
