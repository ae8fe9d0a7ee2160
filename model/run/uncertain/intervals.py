# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Adds the samples' median and 90% interval to the figures of a result."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from model.results.rows import AnyVariant, Key, Metric, Row, RowPlace
from model.results.run import Result
from model.results.saved import Interval
from model.run.model_error import together

LOW, HIGH = 5.0, 95.0
WORKLOAD = "workload"


@dataclass(frozen=True)
class Predicted:
    """One predicted figure: its place in the result, and its published value.

    ``given``: whether the figure is fixed beforehand, because it is the baseline relative to
    itself, or because a parameter was chosen to reproduce it. Then its published value does not
    test the prediction.
    """

    row: Row
    variant: str
    name: str
    value: float | None
    published: float | None
    given: bool

    @property
    def place(self) -> RowPlace:
        """Return the figure's number of threads or its pair."""
        return self.row.place

    @property
    def key(self) -> Key:
        """Return the key of the figure among those of one result."""
        return self.variant, self.place, self.name

    @property
    def judged(self) -> bool:
        """Whether the published value tests the prediction."""
        return self.published is not None and not self.given

    @property
    def interval(self) -> Interval | None:
        """Return the figure's interval, or None."""
        return self.row.interval_of(self.name)

    @property
    def verdict(self) -> bool | None:
        """Whether the published figure is inside the interval; None if that cannot be said."""
        return self.row.inside(self.name) if self.judged else None


def predicted(result: Result) -> Iterator[Predicted]:
    """Yield every predicted figure of a result, in the order of its tables."""
    return predicted_of(result.variants, result.baseline, result.metrics or ())


def predicted_of(
    variants: Iterable[AnyVariant], baseline: str, metrics: Sequence[Metric] = ()
) -> Iterator[Predicted]:
    """Yield every predicted figure of variants, in the order of the tables."""
    for variant in variants:
        for row in variant.rows():
            for figure in row.figures(metrics, variant.name == baseline):
                yield Predicted(row, variant.name, *figure)


def interval(values: Sequence[float]) -> Interval:
    """Return median, 5th and 95th percentile of samples, interpolated between neighbours.

    A further sample lies below the nth lowest of N with a probability of n / (N + 1). So the ends
    of 20 samples are nearly the lowest and the highest. Percentiles *of the samples* would contain
    84% of further samples instead of 90%, or 88% with 40 samples.
    """
    import numpy as np  # late: it takes longer to load than all else that 'run' needs

    ends = [LOW, 50.0, HIGH]
    low, median, high = np.percentile(np.array(values, dtype=float), ends, method="weibull")
    return Interval(median=float(median), low=float(low), high=float(high), samples=len(values))


def attach(result: Result, samples: Sequence[Mapping[Key, float | None]]) -> None:
    """Add intervals to the figures of a result. ``samples`` contains the figures of each sample."""
    for figure in list(predicted(result)):
        values = [sample.get(figure.key) for sample in samples]
        known = [value for value in values if value is not None]
        if figure.value is None or len(known) < len(values):
            continue
        bounds = interval(known)
        published = figure.published if figure.judged else None
        figure.row.keep(figure.name, bounds, None if published is None else bounds.holds(published))


def widen(result: Result, variants: Sequence[str], kind: str, factor: float) -> None:
    """Combine two errors in these variants' intervals: that of inputs, and the model's own.

    ``inputs`` keeps the first part alone, ``model`` the factor. Whole workloads are not widened:
    the model's error was never measured on one, and the ratio of two workloads has a smaller error.
    """
    if kind == WORKLOAD:
        return
    for figure in list(predicted(result)):
        bounds = figure.interval
        if figure.variant not in variants or bounds is None or figure.name not in figure.row.COSTS:
            continue
        bounds.inputs = {"low": bounds.low, "high": bounds.high}
        bounds.model = {"factor": factor}
        bounds.low, bounds.high = together(bounds.low, bounds.median, bounds.high, factor)
        inside = figure.verdict
        if inside is not None and figure.published is not None:
            inside = bounds.holds(figure.published)
        figure.row.keep(figure.name, bounds, inside)


def headlines(result: Result) -> list[Predicted]:
    """Return the figures that a result is about.

    These are the figures that were published for any variant, otherwise the first figure. A
    baseline to which others are relative counts by its cost, a curve by the point with most
    threads, and pairs by the first pair of each latency class.
    """
    keys = result.headlines
    return [figure for figure in predicted(result) if figure.key in keys]
