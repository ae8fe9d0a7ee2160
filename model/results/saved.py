# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the base class and the common parts of all saved results.

The JSON omits a member that equals its default. A member that may be null in the JSON has no
default. ``absent`` makes the default of a member that results of earlier versions lack; the JSON
always contains such a member.
"""

from typing import Annotated, Any, Self, TypeVar

from msgspec import Meta, Struct, convert, field, to_builtins

# No result has larger numbers. With this limit sums and ratios are finite, and plots have ends.
LARGEST = 10**18
Real = (
    Annotated[float, Meta(ge=-float(LARGEST), le=float(LARGEST))]
    | Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
)
Positive = (
    Annotated[float, Meta(ge=1e-9, le=float(LARGEST))] | Annotated[int, Meta(ge=1, le=LARGEST)]
)
NotNegative = (
    Annotated[float, Meta(ge=0.0, le=float(LARGEST))] | Annotated[int, Meta(ge=0, le=LARGEST)]
)
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
# A number of CPUs, threads or bytes, for each of which code may allocate memory.
Few = Annotated[int, Meta(ge=1, le=1 << 24)]
Place = Annotated[int, Meta(ge=-(1 << 24), le=1 << 24)]
# A place in an object of a program, which may be as large as its memory.
Offset = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Hex = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,16}$")]

Default = TypeVar("Default")


def absent(value: Default) -> Default:
    """Return the default of a member that this version always writes and earlier ones did not."""
    return field(default_factory=lambda: value)


class Saved(Struct, kw_only=True, omit_defaults=True):
    """A part of a saved result, with its members in the order of the JSON."""

    @classmethod
    def of(cls, data: object) -> Self:
        """Return the part that JSON contains; ValidationError if its form is wrong."""
        return convert(data, cls)

    @classmethod
    def made_from(cls, part: "Saved", **more: Any) -> Self:
        """Return a part made of ``more`` and the members of ``part`` that this class has, too."""
        both = [name for name in part.__struct_fields__ if name in cls.__struct_fields__]
        return cls(**{name: getattr(part, name) for name in both} | more)

    def to_data(self) -> dict[str, Any]:
        """Return the part as it is saved in JSON."""
        data: dict[str, Any] = to_builtins(self)
        return data


class Interval(Saved, kw_only=True):
    """Median and 90% interval of samples.

    If the ends include the model's own error, ``inputs`` contains the ends without it.
    """

    median: Real
    low: Real
    high: Real
    samples: Count
    inputs: dict[str, Real] | None = None
    model: dict[str, Real] | None = None

    def holds(self, value: float) -> bool:
        """Whether a value lies in the interval."""
        return self.low <= value <= self.high


class Provenance(Saved, kw_only=True):
    """The origin of a result: versions, seed and digests of the inputs."""

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
    """The data with which the model was validated, and the factor by which it errs."""

    kind: str
    curves: Count
    machines: Count
    threads: Count
    factor: Positive
    said: str
    variants: list[str] = []
