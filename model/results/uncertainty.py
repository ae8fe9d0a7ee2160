# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the types that `run --uncertainty` adds, for the draws and each figure's values."""

from model.results.saved import Count, Few, Interval, Real, Saved


class Input(Saved, kw_only=True):
    """An input with a range, and its value in each sample."""

    name: str
    value: Real
    low: Real
    high: Real
    why: str
    drawn: list[Real]


class Calibrated(Saved, kw_only=True):
    """The parameter that each sample calibrates again."""

    name: str
    value: Real
    variant: str
    figure: str
    target: Real
    interval: Interval
    missed: Count


class Samples(Saved, kw_only=True):
    """The values of a variant's figure, one per sample; ``place`` is that of its point, if any."""

    variant: str
    place: int | str | None
    figure: str
    values: list[Real | None]


class Uncertainty(Saved, kw_only=True):
    """The uncertainty of a result: all draws and values."""

    samples: Few
    seed: int
    inputs: list[Input]
    calibrated: Calibrated | None
    figures: list[Samples]

    def __post_init__(self) -> None:
        counts = {len(input_.drawn) for input_ in self.inputs}
        counts |= {len(figure.values) for figure in self.figures}
        if counts - {self.samples}:
            raise ValueError(f"there are not {self.samples} values of each input and figure")
