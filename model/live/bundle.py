# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads a measurement of a host from a file, which may come from an untrusted source.

The file's format is VALIDATE or LIVE. `machine validate --out` writes VALIDATE: machine file, facts
about the host, and both experiments. `bench primitives --out` and `bench ping-pong --out` write
LIVE. All content is checked before use. An error is one line that names the place.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import ValidationError, convert

from common.errors import UserError
from common.formats import VALIDATE
from common.paths import typed
from model.results.run import Host
from model.run.experiment import load_experiment

EXPERIMENTS = ("ping-pong", "primitives")
FACTS = ("cpu", "virtual", "arch", "kernel", "cpus_allowed", "compiler")
MAX_POINTS = 100_000
MAX_CPUS = 65536


@dataclass(frozen=True)
class Measured:
    """One figure: the median of its repetitions, and their 10th and 90th percentiles, in ns.

    ``cpus`` are in the order of the threads. ``latency_class`` is set only for a ping-pong.
    """

    op: str
    cpus: tuple[int, ...]
    ns: float
    low: float
    high: float
    disturbed: bool
    latency_class: str | None = None


@dataclass(frozen=True)
class Measurement:
    """The results of one experiment on one host."""

    experiment: str
    hold_ns: float
    points: tuple[Measured, ...]


@dataclass(frozen=True)
class Bundle:
    """One host: its machine file, its facts, and its measurements."""

    source: str
    machine_file: str
    host: Host
    measured: tuple[Measurement, ...]


def make_bundle(data: Mapping[str, Any], source: str) -> Bundle:
    """Return the checked content of a file, or of a new measurement.

    ``source`` names it in errors.
    """
    try:
        results = data["measured"] if data["format"] == VALIDATE else [data]
        machine_file = data["machine_file"]
        if machine_file is None:
            raise UserError(
                f"{source} has no machine file, because its host had none: on that host "
                f"'{typed('machine validate --out FILE')}' makes a file with one"
            )
        if not isinstance(machine_file, str) or not machine_file:
            raise ValueError("machine_file is not text")
        host = _host(data["host"])
        if not isinstance(results, list) or not 1 <= len(results) <= len(EXPERIMENTS):
            raise ValueError("measured is not a list of one or two results")
        measured = tuple(_measurement(result) for result in results)
        if len({measurement.experiment for measurement in measured}) != len(measured):
            raise ValueError("an experiment was measured twice")
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        OverflowError,
        ValidationError,
    ) as error:
        what = f"'{error.args[0]}' is missing" if isinstance(error, KeyError) else str(error)
        raise UserError(f"{source} is damaged: {what}") from error
    return Bundle(source, machine_file, host, measured)


def _host(facts: Any) -> Host:
    """Return the known facts about a host, as short printable text."""
    if not isinstance(facts, dict):
        raise ValueError("'host' is missing, or is not an object")
    return convert({key: _plain(facts[key]) for key in FACTS if key in facts}, Host)


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int):
        return value
    return "".join(c if c.isprintable() else "?" for c in str(value))[:200]


def _measurement(result: Mapping[str, Any]) -> Measurement:
    name = result["experiment"]
    if name not in EXPERIMENTS:
        raise ValueError(f"experiment is {_plain(name)!r}, which is not one of {list(EXPERIMENTS)}")
    experiment = load_experiment(name)
    known = {variant.name: variant for variant in experiment.variants}
    hold = _number(result.get("hold_ns", 0.0), "hold_ns", 0.0)
    order = _cpus(result["order"]) if name == "primitives" else ()
    points = []
    for variant in result["variants"]:
        op = variant["name"]
        if op not in known:
            raise ValueError(f"{_plain(op)!r} is not an operation of {name}")
        if hold and not known[op].hold:
            raise ValueError(f"{op} has no hold time, but hold_ns is {hold:g}")
        points += [_point(op, point, order) for point in variant["points"]]
    if not 1 <= len(points) <= MAX_POINTS:
        raise ValueError(f"{name} has {len(points)} points")
    return Measurement(name, hold, tuple(points))


def _point(op: str, point: Mapping[str, Any], order: tuple[int, ...]) -> Measured:
    latency_class = None
    if order:
        threads = point["threads"]
        if not isinstance(threads, int) or not 1 <= threads <= len(order):
            raise ValueError(
                f"{op} has {_plain(threads)!r} threads, but order names {len(order)} CPUs"
            )
        cpus = order[:threads]
        where = f"{op} with {threads} threads"
    else:
        cpus = _cpus([point["from"], point["to"]])
        latency_class = str(_plain(point["class"]))
        where = f"{op} between CPUs {cpus[0]} and {cpus[1]}"
    ns = _number(point["ns_per_op"], f"ns_per_op of {where}")
    low = _number(point["low"], f"low of {where}")
    high = _number(point["high"], f"high of {where}")
    if not low <= ns <= high:
        raise ValueError(f"{where}: {ns:g} ns is not between low {low:g} and high {high:g}")
    return Measured(op, cpus, ns, low, high, point.get("all_disturbed") is True, latency_class)


def _number(value: Any, what: str, least: float = 1e-6) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is not a number")
    if not math.isfinite(value) or not least <= value <= 1e12:
        raise ValueError(f"{what} is {value:g}, which is impossible")
    return float(value)


def _cpus(value: Sequence[Any]) -> tuple[int, ...]:
    cpus = tuple(value)
    if not all(type(cpu) is int and 0 <= cpu < MAX_CPUS for cpu in cpus):
        raise ValueError("CPU numbers are not whole numbers below 65536")
    if not cpus or len(set(cpus)) != len(cpus):
        raise ValueError("CPU numbers are missing, or not all different")
    return cpus
