# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the form of a trial, which people send after they measured a machine.

The form contains no name of a host, a user or a program. What others send is hostile: every text
has its pattern, every number its limits, every list its length, and an unknown member is refused by
name. Each member has beside it a function that checks and converts its JSON value.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from common.errors import UserError
from common.inputs import read_input

FORMAT = "schedshard/trial/1"
MAX_BYTES = 16 << 20
MAX_CPUS = 8192
MAX_FIGURES = 20_000
MAX_RUNS = 100
MAX_PAIRS = 100_000
MAX_TABLE = 100
UNITS = ("ns per operation", "ns", "us", "s", "events per second", "MiB per second", "percent")
CLASSES = ("smt", "llc", "node", "package", "remote")
# Why a trial ended before its last run.
ENDS = ("interrupted", "not idle", "too hot", "out of time", "power failed", "failed")
ARCHES = ("x86_64", "aarch64")
# A figure is marked if the spread of its runs is a larger share of their median.
MOST_SPREAD = 0.10
MIN_RUNS = 3
# A machine is not idle if a larger share of its CPUs was busy before the trial began.
MOST_LOAD = 0.05

Check = Callable[[Any, str], Any]


class WrongError(UserError):
    """What a trial cannot contain. The message says the place, and what would be right."""


def _wrong(value: Any, place: str, right: str) -> WrongError:
    scalar = not isinstance(value, (dict, list))
    actual = f", not {json.dumps(value)[:40]}" if scalar else ""
    return WrongError(f"{place} must be {right}{actual}")


def _text(pattern: str, right: str) -> Check:
    def check(value: Any, place: str) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.ASCII):
            raise _wrong(value, place, right)
        return value

    return check


def _one_of(*known: str) -> Check:
    def check(value: Any, place: str) -> str:
        if not isinstance(value, str) or value not in known:
            raise _wrong(value, place, "one of " + ", ".join(f'"{word}"' for word in known))
        return value

    return check


def _flag(value: Any, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(value, place, "true or false")
    return value


def _number(low: float, high: float) -> Check:
    def check(value: Any, place: str) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _wrong(value, place, "a number")
        if not low <= value <= high:
            raise _wrong(value, place, f"{low:g} to {high:g}")
        return float(value)

    return check


def _whole(high: int) -> Check:
    def check(value: Any, place: str) -> int:
        if type(value) is not int or not 0 <= value <= high:
            raise _wrong(value, place, f"a whole number, 0 to {high}")
        return value

    return check


def _list(member: Check, least: int, most: int) -> Check:
    def check(value: Any, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list) or not least <= len(value) <= most:
            raise _wrong(value, place, f"a list of {least} to {most} items")
        return tuple(member(entry, f"{place}[{at}]") for at, entry in enumerate(value))

    return check


def _row(make: Callable[..., Any], *columns: Check) -> Check:
    def check(value: Any, place: str) -> Any:
        if not isinstance(value, list) or len(value) != len(columns):
            raise _wrong(value, place, f"a list of {len(columns)} items")
        return make(*(of(value[at], f"{place}[{at}]") for at, of in enumerate(columns)))

    return check


def _table(name: str, member: Check) -> Check:
    def check(value: Any, place: str) -> dict[str, Any]:
        if not isinstance(value, dict) or len(value) > MAX_TABLE:
            raise _wrong(value, place, f"an object of at most {MAX_TABLE} members")
        known = _text(name, f"as {name}")
        return {known(k, f"a name in {place}"): member(v, f"{place}.{k}") for k, v in value.items()}

    return check


def _maybe(check: Check) -> Check:
    return lambda value, place: None if value is None else check(value, place)


def _record(make: Callable[..., Any]) -> Check:
    """Return a check for an object with the members of a dataclass, which it makes."""
    members = {member.name: member for member in fields(make)}  # type: ignore[arg-type]

    def check(value: Any, place: str) -> Any:
        if not isinstance(value, dict):
            raise _wrong(value, place, "an object")
        for name in value:
            if name not in members:
                known = ", ".join(members)
                raise WrongError(f"{place} has an unknown member '{name[:40]}': known are {known}")
        for name, member in members.items():
            if name not in value and member.default is MISSING is member.default_factory:
                raise WrongError(f"{place} lacks '{name}'")
        return make(
            **{
                name: members[name].metadata["check"](v, f"{place}.{name}")
                for name, v in value.items()
            }
        )

    return check


def _is(check: Check, **words: Any) -> Any:
    """Return a field() that has a check for its JSON value; ``words`` go to field()."""
    return field(metadata={"check": check}, **words)


_NAME = _text(r"[a-z][a-z0-9.-]{0,47}", "a short name of a-z, 0-9, . and -")
_PART = _text(r"|[a-z][a-z0-9.-]{0,47}", "a short name of a-z, 0-9, . and -")
_KERNEL = _text(r"[a-z][a-z0-9-]{0,23}", "a short name of a-z, 0-9 and -")
_FEATURE = r"[A-Za-z][A-Za-z0-9_]{0,47}"
_WORDS = _text(r"[ -~]{0,160}", "at most 160 printable characters")
_VALUE = _number(0, 1e15)
_NS = _number(0.01, 1e7)
_CPU = _whole(MAX_CPUS - 1)


@dataclass(frozen=True)
class Predicted:
    """A prediction in its figure's unit, with its 90% interval and the name of its machine file."""

    value: float = _is(_VALUE)
    low: float = _is(_VALUE)
    high: float = _is(_VALUE)
    machine: str = _is(_text(r"[a-z0-9][a-z0-9-]{0,63}", "the name of a machine file"))

    def __post_init__(self) -> None:
        if not self.low <= self.value <= self.high:
            raise WrongError(f"a prediction must be between low and high, not {self.value:g}")


@dataclass(frozen=True)
class Figure:
    """One figure, by run. ``name`` is an operation of the model, or a workload.

    ``kernel`` names one of the trial's kernels. ``threads`` is the number of CPUs that took part, 0
    if the workload chooses. ``between`` is the distance of two CPUs (CLASSES), "" for none.
    ``part`` says which of a workload's figures it is, such as "p99"; "" for its only one.
    """

    name: str = _is(_NAME)
    kernel: str = _is(_KERNEL)
    unit: str = _is(_one_of(*UNITS))
    runs: tuple[float, ...] = _is(_list(_VALUE, 1, MAX_RUNS))
    threads: int = _is(_whole(MAX_CPUS), default=0)
    between: str = _is(_one_of("", *CLASSES), default="")
    part: str = _is(_PART, default="")
    predicted: Predicted | None = _is(_maybe(_record(Predicted)), default=None)  # noqa: RUF009

    @property
    def value(self) -> float:
        """Return the median of the runs."""
        return float(median(self.runs))

    @property
    def spread(self) -> float:
        """Return the range of the runs, without the lowest and the highest of five or more.

        The range is a share of the median.
        """
        runs = sorted(self.runs)
        kept = runs[1:-1] if len(runs) > 4 else runs
        return (kept[-1] - kept[0]) / self.value if self.value else math.inf

    @property
    def wide(self) -> bool:
        """Whether the runs differ too much, or are too few, to judge the model."""
        return len(self.runs) < MIN_RUNS or self.spread > MOST_SPREAD

    @property
    def key(self) -> tuple[str, str, int, str, str]:
        """Return what two trials must have in common to compare this figure, besides the kernel."""
        return self.name, self.part, self.threads, self.between, self.unit


@dataclass(frozen=True)
class Kernel:
    """A kernel that was measured. ``release`` has only numbers; ``features`` are on or off.

    ``name`` is "host" for a machine's own kernel, otherwise that of a variant, such as "stock".
    """

    name: str = _is(_KERNEL)
    release: str = _is(
        _text(r"[0-9]{1,4}(\.[0-9]{1,5}){1,2}", "only the numbers of a release, as 6.12.1")
    )
    features: Mapping[str, bool] = _is(_table(_FEATURE, _flag), default_factory=dict)


class Cpu(NamedTuple):
    """A CPU and its place; all numbers are unique in the machine."""

    cpu: int
    package: int
    node: int
    llc: int
    l2: int
    core: int


@dataclass(frozen=True)
class Host:
    """The measured machine. ``processor`` is its processor's model name.

    ``emulated``: an emulator ran it, so nothing is a measurement.
    """

    processor: str = _is(_WORDS)
    arch: str = _is(_one_of(*ARCHES))
    virtual: bool = _is(_flag)
    emulated: bool = _is(_flag)
    cpus: tuple[Cpu, ...] = _is(_list(_row(Cpu, *[_CPU] * 6), 1, MAX_CPUS))
    mitigations: Mapping[str, str] = _is(_table(_FEATURE, _WORDS), default_factory=dict)

    def __post_init__(self) -> None:
        if len({cpu.cpu for cpu in self.cpus}) != len(self.cpus):
            raise WrongError("the host names a CPU twice")
        for inner, outer in (("core", "l2"), ("l2", "llc")):
            both = {(getattr(cpu, inner), getattr(cpu, outer)) for cpu in self.cpus}
            if len(both) != len({part for part, _ in both}):
                raise WrongError(f"the host has CPUs of one {inner} with different {outer}")


@dataclass(frozen=True)
class State:
    """The machine's state. Loads, before and after the runs, are shares of all CPUs, 0 to 1.

    ``hot``: during a run it was too hot, or slowed itself down.
    """

    load_before: float = _is(_number(0, 1))
    load_after: float = _is(_number(0, 1))
    battery: bool = _is(_flag)
    hot: bool = _is(_flag, default=False)


@dataclass(frozen=True)
class Costs:
    """What schedshard-measure printed: ns by operation, and ns one way by pair of CPUs.

    ``homes`` has such times for pairs of one package; the line's memory was in another package.
    """

    ops_ns: Mapping[str, float] = _is(_table(r"[a-z_]{1,24}", _number(0, 1e9)))
    pairs: tuple[tuple[int, int, float], ...] = _is(
        _list(_row(lambda *row: row, _CPU, _CPU, _NS), 0, MAX_PAIRS)
    )
    homes: tuple[float, ...] = _is(_list(_NS, 0, 1000), default=())


@dataclass(frozen=True)
class Trial:
    """A whole trial. ``ended`` is one of ENDS, or "" if it is complete.

    ``tools`` are SHA-256 sums of the programs that measured, by their names in the project.
    """

    version: str = _is(_text(r"[0-9][0-9A-Za-z.+-]{0,31}", "the version of schedshard"))
    host: Host = _is(_record(Host))  # noqa: RUF009
    kernels: tuple[Kernel, ...] = _is(_list(_record(Kernel), 1, 16))
    state: State = _is(_record(State))  # noqa: RUF009
    figures: tuple[Figure, ...] = _is(_list(_record(Figure), 0, MAX_FIGURES))
    tools: Mapping[str, str] = _is(
        _table(r"[a-z][a-z-]{0,47}", _text(r"[0-9a-f]{64}", "a SHA-256")), default_factory=dict
    )
    costs: Costs | None = _is(_maybe(_record(Costs)), default=None)  # noqa: RUF009
    ended: str = _is(_one_of("", *ENDS), default="")

    def __post_init__(self) -> None:
        names = [kernel.name for kernel in self.kernels]
        if len(set(names)) != len(names):
            raise WrongError("kernels must have different names")
        for figure in self.figures:
            if figure.kernel not in names:
                raise WrongError(f"a figure's kernel must be one of {', '.join(names)}")
        if len({(figure.kernel, *figure.key) for figure in self.figures}) != len(self.figures):
            raise WrongError("figures must differ in name, kernel, threads, between or part")
        cpus = {cpu.cpu for cpu in self.host.cpus}
        for a, b, _ in self.costs.pairs if self.costs else ():
            if a == b or not {a, b} <= cpus:
                raise WrongError(f"a pair of costs must be two CPUs of the host, not {a} and {b}")

    @property
    def marks(self) -> tuple[str, ...]:
        """Return why the whole trial is not used to judge the model; nothing if it is."""
        busy = max(self.state.load_before, self.state.load_after) > MOST_LOAD
        reasons = {
            "emulated, so not a measurement": self.host.emulated,
            "under load": busy or self.ended == "not idle",
            "on battery": self.state.battery,
            "too hot": self.state.hot or self.ended == "too hot",
        }
        return tuple(words for words, applies in reasons.items() if applies)

    @property
    def usable(self) -> tuple[Figure, ...]:
        """Return the figures that may judge the model."""
        return () if self.marks else tuple(figure for figure in self.figures if not figure.wide)


def _digits(text: str) -> int:
    if len(text) > 18:
        raise ValueError("a number of more than 18 digits")
    return int(text)


def _constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def read_trial(raw: bytes, source: str) -> Trial:
    """Return the checked trial of a file's bytes. ``source`` names the file in errors."""
    if len(raw) > MAX_BYTES:
        raise UserError(f"{source} is larger than {MAX_BYTES >> 20} MiB")
    try:
        data = json.loads(raw.decode("utf-8"), parse_int=_digits, parse_constant=_constant)
        declared = data.pop("format", None) if isinstance(data, dict) else None
        _one_of(FORMAT)(declared, "its format")
        made: Trial = _record(Trial)(data, "the file")
    except RecursionError:
        raise UserError(f"{source} is not a trial: it is nested too deeply") from None
    except WrongError as error:
        raise UserError(f"{source} is not a trial: {error}") from None
    except ValueError as error:
        raise UserError(f"{source} is not a trial: it is not JSON: {str(error)[:120]}") from None
    return made


def load_trial(path: Path) -> Trial:
    """Return the checked trial in a file."""
    return read_trial(read_input(path, "trial", MAX_BYTES), path.name)


def _short(value: Any) -> Any:
    """Return plain data with numbers of six digits."""
    if isinstance(value, dict):
        return {key: _short(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_short(member) for member in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _lined(value: Any, depth: int) -> str:
    """Return JSON text. A value two levels down, or an element of a list, takes one line."""
    if not value or not isinstance(value, (dict, list)) or depth > 2:
        return json.dumps(value, allow_nan=False)
    deeper = depth + 1 if isinstance(value, dict) else 3
    if isinstance(value, dict):
        rows = [f"{json.dumps(key)}: {_lined(member, deeper)}" for key, member in value.items()]
    else:
        rows = [_lined(member, deeper) for member in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return start + "\n" + ",\n".join(" " * (depth + 1) + row for row in rows) + end


def trial_text(trial: Trial) -> str:
    """Return a trial as the text of its file: one line per CPU, figure and pair.

    What read_trial() would refuse is refused here, too.
    """
    text = _lined({"format": FORMAT, **_short(asdict(trial))}, 0) + "\n"
    read_trial(text.encode("ascii"), "the new trial")
    return text
