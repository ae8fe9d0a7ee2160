# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What all saved results are made of.

A member with a default that is None is left out of the JSON. A member that may be null there has no
default. ``absent`` makes a default that stands in the JSON nevertheless: of a member that results
of earlier versions lack.
"""

from typing import Annotated, Any, TypeVar

from msgspec import Meta, Struct, field, to_builtins

# No number of ours is larger: sums and ratios of them are finite, and plots have an end.
_LARGEST = 10**18
Real = (
    Annotated[float, Meta(ge=-float(_LARGEST), le=float(_LARGEST))]
    | Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
)
Positive = (
    Annotated[float, Meta(ge=1e-9, le=float(_LARGEST))] | Annotated[int, Meta(ge=1, le=_LARGEST)]
)
NotNegative = (
    Annotated[float, Meta(ge=0.0, le=float(_LARGEST))] | Annotated[int, Meta(ge=0, le=_LARGEST)]
)
Count = Annotated[int, Meta(ge=0, le=_LARGEST)]
# Of CPUs, threads, bytes of an object: something may be made for each.
Few = Annotated[int, Meta(ge=1, le=1 << 24)]
Place = Annotated[int, Meta(ge=-(1 << 24), le=1 << 24)]
Hex = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,16}$")]

Default = TypeVar("Default")


def absent(value: Default) -> Default:
    """The default of a member that earlier versions did not write, and this one always does."""
    return field(default_factory=lambda: value)


class Saved(Struct, kw_only=True, omit_defaults=True):
    """A part of a saved result; its members are in the order of the JSON."""

    def to_data(self) -> dict[str, Any]:
        """As it is saved."""
        data: dict[str, Any] = to_builtins(self)
        return data


class Interval(Saved, kw_only=True):
    """Median and 90% interval of samples.

    With the model's own error ``inputs`` keeps the ends without it.
    """

    median: Real
    low: Real
    high: Real
    samples: Count
    inputs: dict[str, Real] | None = None
    model: dict[str, Real] | None = None

    def holds(self, value: float) -> bool:
        """Whether a value lies in it."""
        return self.low <= value <= self.high


class Provenance(Saved, kw_only=True):
    """The origin of a result."""

    version: str
    commit: str
    seed: int | None = None
    machine_file: str | None = None
    machine_sha256: str = ""
    calibration: str = ""
    experiment_sha256: str = ""
    simulator_sha256: str = ""


class Machine(Saved, kw_only=True):
    """The machine of a result."""

    name: str
    title: str
    kind: str
    cpus: Few
    clock_ghz: Real | None = None


class ModelError(Saved, kw_only=True):
    """On what the model was checked, and by which factor it errs."""

    kind: str
    curves: Count
    machines: Count
    threads: Count
    factor: Positive
    said: str
    variants: list[str]
