# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The form of a trial: what people send after they measured a machine.

It contains no name of a host, a user or a program. What others send is hostile: every text has its
pattern, every number its limits, every list its length, and an unknown member is refused by name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

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
# A wider spread of a figure's runs, as a share of their median, is marked.
MOST_SPREAD = 0.10
MIN_RUNS = 3
# Busy CPUs of all, before the trial began, above which a machine is not idle.
MOST_LOAD = 0.05

NAME = r"[a-z][a-z0-9.-]{0,47}"
_KERNEL = r"[a-z][a-z0-9-]{0,23}"
_RELEASE = r"[0-9]{1,4}(\.[0-9]{1,5}){1,2}"
_FEATURE = r"[A-Za-z][A-Za-z0-9_]{0,47}"
_WORDS = r"[ -~]{0,160}"  # printable ASCII
_VERSION = r"[0-9][0-9A-Za-z.+-]{0,31}"
_SUM = r"[0-9a-f]{64}"
_MACHINE = r"[a-z0-9][a-z0-9-]{0,63}"

Made = TypeVar("Made")


@dataclass(frozen=True)
class Predicted:
    """A prediction in its figure's unit, with its 90% interval and the machine file it is of."""

    value: float
    low: float
    high: float
    machine: str


@dataclass(frozen=True)
class Figure:
    """One figure, by run. ``name`` is an operation of the model, or a workload.

    ``kernel`` names one of the trial's kernels. ``threads`` is the number of CPUs that took part, 0
    if the workload chooses. ``between`` is the distance of two CPUs (CLASSES), "" for none.
    ``part`` says which of a workload's figures it is, such as "p99"; "" for its only one.
    """

    name: str
    kernel: str
    unit: str
    runs: tuple[float, ...]
    threads: int = 0
    between: str = ""
    part: str = ""
    predicted: Predicted | None = None

    @property
    def value(self) -> float:
        """Return the median of the runs."""
        return float(median(self.runs))

    @property
    def spread(self) -> float:
        """Return the range of the runs, without the lowest and the highest of five or more.

        It is a share of the median.
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
        """Return what two trials must have in common to compare this figure, beside the kernel."""
        return self.name, self.part, self.threads, self.between, self.unit


@dataclass(frozen=True)
class Kernel:
    """A kernel that was measured. ``release`` has only numbers; ``features`` are on or off.

    ``name`` is "host" for a machine's own kernel, otherwise that of a variant, such as "stock".
    """

    name: str
    release: str
    features: Mapping[str, bool] = field(default_factory=dict)


@dataclass(frozen=True)
class Cpu:
    """A CPU and its place; each number counts over the whole machine."""

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

    processor: str
    arch: str
    virtual: bool
    emulated: bool
    cpus: tuple[Cpu, ...]
    mitigations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class State:
    """The machine's state. Loads are busy CPUs of all, 0 to 1, before and after the runs."""

    load_before: float
    load_after: float
    battery: bool


@dataclass(frozen=True)
class Costs:
    """What schedshard-measure printed: costs in ns by operation, and ns one way by two CPUs.

    ``homes`` are such times of pairs whose line was memory of another package.
    """

    ops_ns: Mapping[str, float]
    pairs: tuple[tuple[int, int, float], ...]
    homes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Trial:
    """A whole trial. ``ended`` is one of ENDS, or "" if it is complete.

    ``tools`` are SHA-256 sums of the programs that measured, by their names in the project.
    """

    version: str
    host: Host
    kernels: tuple[Kernel, ...]
    state: State
    figures: tuple[Figure, ...]
    tools: Mapping[str, str] = field(default_factory=dict)
    costs: Costs | None = None
    ended: str = ""

    @property
    def marks(self) -> tuple[str, ...]:
        """Return why the whole trial is not used to judge the model; nothing if it is."""
        busy = max(self.state.load_before, self.state.load_after) > MOST_LOAD
        found = {
            "emulated, so not a measurement": self.host.emulated,
            "under load": busy or self.ended == "not idle",
            "on battery": self.state.battery,
            "too hot": self.ended == "too hot",
        }
        return tuple(words for words, there in found.items() if there)

    @property
    def usable(self) -> tuple[Figure, ...]:
        """Return the figures that may judge the model."""
        return () if self.marks else tuple(each for each in self.figures if not each.wide)


class _At:
    """A value in the file, and its place there, which errors name."""

    def __init__(self, value: Any, place: str, source: str) -> None:
        self.value, self.place, self.source = value, place, source

    def wrong(self, right: str) -> UserError:
        scalar = not isinstance(self.value, (dict, list))
        found = f", not {json.dumps(self.value)[:40]}" if scalar else ""
        return UserError(f"{self.source} is not a trial: {self.place} must be {right}{found}")

    def members(self, *names: str, needless: Sequence[str] = ()) -> list[_At]:
        """Return members in the order of ``names``; those of ``needless`` may be missing."""
        if not isinstance(self.value, dict):
            raise self.wrong("an object")
        for name in self.value:
            if name not in names:
                raise UserError(
                    f"{self.source} is not a trial: {self.place} has an unknown member "
                    f"'{name[:40]}': known are {', '.join(names)}"
                )
        for name in names:
            if name not in self.value and name not in needless:
                raise UserError(f"{self.source} is not a trial: {self.place} lacks '{name}'")
        return [_At(self.value.get(name), f"{self.place}.{name}", self.source) for name in names]

    def text(self, pattern: str, right: str) -> str:
        if not isinstance(self.value, str) or not re.fullmatch(pattern, self.value, re.ASCII):
            raise self.wrong(right)
        return self.value

    def one_of(self, known: Sequence[str]) -> str:
        if not isinstance(self.value, str) or self.value not in known:
            raise self.wrong("one of " + ", ".join(f'"{each}"' for each in known))
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            raise self.wrong("true or false")
        return self.value

    def number(self, low: float, high: float) -> float:
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong("a number")
        if not low <= value <= high:
            raise self.wrong(f"{low:g} to {high:g}")
        return float(value)

    def whole(self, high: int) -> int:
        if type(self.value) is not int or not 0 <= self.value <= high:
            raise self.wrong(f"a whole number, 0 to {high}")
        return self.value

    def items(self, least: int, most: int) -> list[_At]:
        if not isinstance(self.value, list) or not least <= len(self.value) <= most:
            raise self.wrong(f"a list of {least} to {most}")
        return [_At(each, f"{self.place}[{at}]", self.source) for at, each in enumerate(self.value)]

    def table(self, pattern: str, make: Callable[[_At], Made]) -> dict[str, Made]:
        """Return an object whose members' names match a pattern."""
        if not isinstance(self.value, dict) or len(self.value) > MAX_TABLE:
            raise self.wrong(f"an object of at most {MAX_TABLE} members")
        made = {}
        for name, value in self.value.items():
            _At(name, f"a name in {self.place}", self.source).text(pattern, f"as {pattern}")
            made[name] = make(_At(value, f"{self.place}.{name}", self.source))
        return made


def _cpu(at: _At) -> Cpu:
    numbers = [each.whole(MAX_CPUS - 1) for each in at.items(6, 6)]
    return Cpu(*numbers)


def _host(at: _At) -> Host:
    processor, arch, virtual, emulated, cpus, mitigations = at.members(
        "processor", "arch", "virtual", "emulated", "cpus", "mitigations"
    )
    made = tuple(map(_cpu, cpus.items(1, MAX_CPUS)))
    if len({each.cpu for each in made}) != len(made):
        raise UserError(f"{at.source} is not a trial: {cpus.place} names a CPU twice")
    for level in ("l2", "llc"):
        inner = {"l2": "core", "llc": "l2"}[level]
        if len({(getattr(c, inner), getattr(c, level)) for c in made}) != len(
            {getattr(c, inner) for c in made}
        ):
            raise UserError(f"{at.source} is not a trial: one {inner} is in two of {level}")
    return Host(
        processor.text(_WORDS, "at most 160 printable characters"), arch.one_of(ARCHES),
        virtual.flag(), emulated.flag(), made,
        mitigations.table(_FEATURE, lambda each: each.text(_WORDS, "printable, at most 160")),
    )  # fmt: skip


def _kernel(at: _At) -> Kernel:
    name, release, features = at.members("name", "release", "features")
    return Kernel(
        name.text(_KERNEL, "a short name of a-z, 0-9 and -"),
        release.text(_RELEASE, "only the numbers of a release, as 6.12.1"),
        features.table(_FEATURE, _At.flag),
    )


def _predicted(at: _At) -> Predicted | None:
    if at.value is None:
        return None
    value, low, high, machine = at.members("value", "low", "high", "machine")
    made = Predicted(
        value.number(0, 1e15), low.number(0, 1e15), high.number(0, 1e15),
        machine.text(_MACHINE, "the name of a machine file"),
    )  # fmt: skip
    if not made.low <= made.value <= made.high:
        raise value.wrong(f"between low and high, {made.low:g} and {made.high:g}")
    return made


def _figure(at: _At) -> Figure:
    name, kernel, unit, runs, threads, between, part, predicted = at.members(
        "name", "kernel", "unit", "runs", "threads", "between", "part", "predicted",
        needless=("threads", "between", "part", "predicted"),
    )  # fmt: skip
    return Figure(
        name.text(NAME, "a short name of a-z, 0-9, . and -"),
        kernel.text(_KERNEL, "the name of a kernel"),
        unit.one_of(UNITS),
        tuple(each.number(0, 1e15) for each in runs.items(1, MAX_RUNS)),
        0 if threads.value is None else threads.whole(MAX_CPUS),
        "" if between.value is None else between.one_of(CLASSES),
        "" if part.value is None else part.text(NAME, "a short name of a-z, 0-9, . and -"),
        _predicted(predicted),
    )


def _costs(at: _At, cpus: frozenset[int]) -> Costs | None:
    if at.value is None:
        return None
    ops, pairs, homes = at.members("ops_ns", "pairs", "homes")
    made = []
    for each in pairs.items(0, MAX_PAIRS):
        first, second, ns = each.items(3, 3)
        a, b = first.whole(MAX_CPUS - 1), second.whole(MAX_CPUS - 1)
        if a == b or not {a, b} <= cpus:
            raise each.wrong("two different CPUs of the host, and nanoseconds")
        made.append((a, b, ns.number(0.01, 1e7)))
    return Costs(
        ops.table(r"[a-z_]{1,24}", lambda one: one.number(0, 1e9)), tuple(made),
        tuple(each.number(0.01, 1e7) for each in homes.items(0, 1000)),
    )  # fmt: skip


def _trial(at: _At) -> Trial:
    _, version, host, kernels, state, figures, tools, costs, ended = at.members(
        "format", "version", "host", "kernels", "state", "figures", "tools", "costs", "ended",
        needless=("tools", "costs", "ended"),
    )  # fmt: skip
    before, after, battery = state.members("load_before", "load_after", "battery")
    machine = _host(host)
    known = tuple(map(_kernel, kernels.items(1, 16)))
    names = [each.name for each in known]
    if len(set(names)) != len(names):
        raise kernels.wrong("kernels of different names")
    made = []
    for each in figures.items(0, MAX_FIGURES):
        one = _figure(each)
        if one.kernel not in names:
            raise UserError(
                f"{at.source} is not a trial: {each.place}.kernel must be one of "
                f"{', '.join(names)}, not '{one.kernel}'"
            )
        made.append(one)
    if len({(one.kernel, *one.key) for one in made}) != len(made):
        raise figures.wrong("figures that differ in name, kernel, threads, between or part")
    return Trial(
        version.text(_VERSION, "the version of schedshard"), machine, known,
        State(before.number(0, 1), after.number(0, 1), battery.flag()), tuple(made),
        {} if tools.value is None else tools.table(NAME, lambda sum_: sum_.text(_SUM, "a SHA-256")),
        _costs(costs, frozenset(cpu.cpu for cpu in machine.cpus)),
        "" if ended.value is None else ended.one_of(("", *ENDS)),
    )  # fmt: skip


def _whole(digits: str) -> int:
    if len(digits) > 18:
        raise ValueError("a number of more than 18 digits")
    return int(digits)


def _constant(word: str) -> float:
    raise ValueError(f"{word} is not a number")


def read_trial(raw: bytes, source: str) -> Trial:
    """Return the checked trial of a file's bytes. ``source`` names the file in errors."""
    if len(raw) > MAX_BYTES:
        raise UserError(f"{source} is larger than {MAX_BYTES >> 20} MiB")
    try:
        data = json.loads(raw.decode("utf-8"), parse_int=_whole, parse_constant=_constant)
    except RecursionError:
        raise UserError(f"{source} is not a trial: it is nested too deeply") from None
    except ValueError as error:
        raise UserError(f"{source} is not a trial: it is not JSON: {str(error)[:120]}") from None
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        said = json.dumps(found)[:40]
        raise UserError(f'{source} is not a trial: its format must be "{FORMAT}", not {said}')
    return _trial(_At(data, "the file", source))


def load_trial(path: Path) -> Trial:
    """Return the checked trial in a file."""
    return read_trial(read_input(path, "trial", MAX_BYTES), path.name)


def _figure_data(figure: Figure) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": figure.name, "kernel": figure.kernel, "unit": figure.unit,
        "runs": [_short(run) for run in figure.runs],
    }  # fmt: skip
    for key in ("threads", "between", "part"):
        if getattr(figure, key):
            made[key] = getattr(figure, key)
    if figure.predicted:
        of = figure.predicted
        made["predicted"] = {
            "value": of.value, "low": of.low, "high": of.high, "machine": of.machine,
        }  # fmt: skip
    return made


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def trial_text(trial: Trial) -> str:
    """Return a trial as the text of its file: one line per CPU, figure and pair.

    What read_trial() would refuse is refused here, too.
    """
    host, state = trial.host, trial.state
    data: dict[str, Any] = {
        "format": FORMAT,
        "version": trial.version,
        "ended": trial.ended,
        "state": {
            "load_before": _short(state.load_before), "load_after": _short(state.load_after),
            "battery": state.battery,
        },
        "tools": dict(trial.tools),
        "kernels": [
            {"name": each.name, "release": each.release, "features": dict(each.features)}
            for each in trial.kernels
        ],
        "figures": [_figure_data(each) for each in trial.figures],
        "costs": None,
        "host": {
            "processor": host.processor, "arch": host.arch, "virtual": host.virtual,
            "emulated": host.emulated, "mitigations": dict(host.mitigations),
            "cpus": [
                [each.cpu, each.package, each.node, each.llc, each.l2, each.core]
                for each in host.cpus
            ],
        },
    }  # fmt: skip
    if trial.costs:
        data["costs"] = {
            "ops_ns": {key: _short(ns) for key, ns in trial.costs.ops_ns.items()},
            "pairs": [[a, b, _short(ns)] for a, b, ns in trial.costs.pairs],
            "homes": list(map(_short, trial.costs.homes)),
        }
    text = _lined(data, 0) + "\n"
    read_trial(text.encode("ascii"), "the new trial")
    return text


def _lined(value: Any, depth: int) -> str:
    """Return JSON in which a container without another container in it is one line."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if depth > 0 and not any(isinstance(each, (dict, list)) for each in inner):
        return json.dumps(value, allow_nan=False)
    space = " " * (depth + 1)
    if isinstance(value, dict):
        rows = [
            f"{space}{json.dumps(key)}: {_lined(each, depth + 1)}" for key, each in value.items()
        ]
        return "{\n" + ",\n".join(rows) + "\n" + " " * depth + "}"
    if depth > 3 or (inner and not isinstance(value[0], (dict, list))):
        return json.dumps(value, allow_nan=False)
    return (
        "[\n" + ",\n".join(space + _lined(each, depth + 1) for each in value) + f"\n{' ' * depth}]"
    )
