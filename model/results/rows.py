# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines a row: a variant of Bars or Figures, or a point of another result of `run`.

Rows are the parts of a result that have predicted figures.
"""

from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Annotated, ClassVar, Generic, NamedTuple, Self, TypeVar

from msgspec import UNSET, Meta, UnsetType

from model.results.lines import CacheLine
from model.results.saved import (
    Count,
    Few,
    Interval,
    NotNegative,
    Positive,
    Real,
    Saved,
    absent,
)

# The place of a row: a number of threads, a pair, or None for a variant.
RowPlace = int | str | None
# The variant, the place and the name of a figure.
Key = tuple[str, RowPlace, str]
# A figure: its name, its value, its published value, and whether it is true by definition.
Figure = tuple[str, float | None, float | None, bool]


class Metric(Saved, kw_only=True):
    """A figure of Figures. In the unit percent its values are fractions."""

    name: str
    title: str
    unit: str
    relative_to_baseline: bool


class _Row:
    """A row. The row of a variant has no place, and all CPUs of the result took part."""

    # The figures that contain the model's own error.
    COSTS: ClassVar[tuple[str, ...]] = ("ns_per_op", "cycles_per_op")

    @property
    def place(self) -> RowPlace:
        """The number of threads or the pair: unique in a variant."""
        return None

    @property
    def where(self) -> str:
        """The place in words, after the name of the variant."""
        return ""

    def rows(self) -> Sequence[Self]:
        """Return the rows of a variant that is a row itself."""
        return (self,)

    def among(self, variant: str, cpus: int) -> tuple[str, int]:
        """Return the name of the row's series in a sweep, and the number of its CPUs."""
        return variant, cpus


class _Compared(_Row):
    """A row with an interval per figure; ``interval`` repeats that of the first figure."""

    FIGURES: ClassVar[tuple[str, ...]]
    values: ClassVar[Mapping[str, float | None]] = {}
    calibrated: ClassVar[Sequence[str] | None] = None
    published: float | None
    intervals: dict[str, Interval] | None
    interval: Interval | None
    published_inside: bool | None

    def figures(self, _: Sequence[Metric], base: bool) -> Iterator[Figure]:
        """Yield the figures of the row; ``base``: it is the baseline's."""
        for name in self.FIGURES:
            value = getattr(self, name)
            if value is not None or name == "relative":
                published = self.published if name == self.FIGURES[0] else None
                yield name, value, published, base and name == "relative"

    def interval_of(self, figure: str) -> Interval | None:
        """Return the interval of a figure, None if it has none."""
        return (self.intervals or {}).get(figure)

    def inside(self, figure: str) -> bool | None:
        """Whether the published figure lies in the interval; None: not judged."""
        return self.published_inside

    def keep(self, figure: str, interval: Interval, inside: bool | None) -> None:
        """Store the interval of a figure, and whether the published figure lies in it."""
        self.intervals = {**(self.intervals or {}), figure: interval}
        if figure == self.FIGURES[0]:
            self.interval, self.published_inside = interval, inside


class Bar(Saved, _Compared, kw_only=True):
    """A variant of Bars."""

    FIGURES: ClassVar[tuple[str, ...]] = (
        "relative", "cycles_per_op", "ns_per_op", "cycles_per_read",
    )  # fmt: skip

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


class FigureVariant(Saved, _Row, kw_only=True):
    """A variant of Figures. In the JSON each of ``values`` is a member of the variant."""

    COSTS: ClassVar[tuple[str, ...]] = ()

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

    def figures(self, metrics: Sequence[Metric], base: bool) -> Iterator[Figure]:
        """Yield the figures of the row; ``base``: it is the baseline's."""
        for metric in metrics:
            name = metric.name
            given = (base and metric.relative_to_baseline) or name in (self.calibrated or ())
            yield name, self.values[name], self.published.get(name), given

    def interval_of(self, figure: str) -> Interval | None:
        """Return the interval of a figure, None if it has none."""
        return (self.interval or {}).get(figure)

    def inside(self, figure: str) -> bool | None:
        """Whether the published figure lies in the interval; None: not judged."""
        return (self.published_inside or {}).get(figure)

    def keep(self, figure: str, interval: Interval, inside: bool | None) -> None:
        """Store the interval of a figure, and whether the published figure lies in it."""
        self.interval = {**(self.interval or {}), figure: interval}
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
    def compared(self) -> Compared | None:
        """The published figure of the point, None if there is none."""
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

    @property
    def where(self) -> str:
        """The number of threads in words."""
        return f" at {self.threads} threads"

    def among(self, variant: str, cpus: int) -> tuple[str, int]:
        """Return the variant, and the number of threads as the number of CPUs."""
        return variant, self.threads


class PairPoint(Point, kw_only=True):
    """A point of Pairs: two CPUs that take turns."""

    latency_class: str
    first: Count
    second: Count

    @property
    def place(self) -> RowPlace:
        """The latency class and the two CPUs."""
        return f"{self.latency_class} {self.first}-{self.second}"

    @property
    def where(self) -> str:
        """The pair in words."""
        return f", {self.place}"

    def among(self, variant: str, cpus: int) -> tuple[str, int]:
        """Return the variant with the pair, which is a series of its own, and two CPUs."""
        return f"{variant} {self.place}", 2


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
