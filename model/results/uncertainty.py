# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types that `run --uncertainty` adds: the draws, and each input's part in the variance."""

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


class _Figure(Saved, kw_only=True):
    """A figure of a variant; ``place`` is that of its point, None in a result without points."""

    variant: str
    place: int | str | None
    figure: str

    @property
    def key(self) -> tuple[str, int | str | None, str]:
        """The variant, place and name: unique in a result."""
        return self.variant, self.place, self.figure


class Samples(_Figure, kw_only=True):
    """The values of a figure, one per sample."""

    values: list[Real | None]


class Influence(_Figure, kw_only=True):
    """The first-order index of each input for a figure."""

    indices: dict[str, Real]


class Sensitivity(Saved, kw_only=True):
    """The influence of inputs, if there are enough samples; chance alone gives ``noise``."""

    method: str
    needed: Count
    enough: bool
    noise: Real | None
    first_order: list[Influence]

    def __post_init__(self) -> None:
        if self.enough and self.noise is None:
            raise ValueError("noise is missing")


class Uncertainty(Saved, kw_only=True):
    """The uncertainty of a result: all draws, values and indices."""

    samples: Few
    seed: int
    inputs: list[Input]
    calibrated: Calibrated | None
    figures: list[Samples]
    sensitivity: Sensitivity | None

    def __post_init__(self) -> None:
        counts = {len(each.drawn) for each in self.inputs}
        counts |= {len(each.values) for each in self.figures}
        if counts - {self.samples}:
            raise ValueError(f"there are not {self.samples} values of each input and figure")
        names = {each.name for each in self.inputs}
        first = self.sensitivity.first_order if self.sensitivity is not None else []
        if any(set(each.indices) != names for each in first):
            raise ValueError("sensitivity names other inputs")
