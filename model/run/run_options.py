# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Checks the arguments of `run` against the experiment, and turns them into a request."""

import math
from dataclasses import dataclass, replace

from common.errors import UserError, check_names
from model.machines.presets import Machine, cpu_count, load_machine
from model.run.experiment import Experiment, Param, experiment_names, load_experiment
from model.run.pairs import load_pairs
from model.run.run import RunRequest

MOST_NS = 1_000_000_000


@dataclass(frozen=True)
class RunOptions:
    """The arguments of `run`. None, or an empty tuple, selects the default."""

    experiment: str
    machine: str | None = None
    cpus: int | None = None
    seed: int = 1
    placement: str = "os"
    cap: int | None = None
    variants: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    first: int | None = None
    hold_ns: float | None = None
    work_ns: float | None = None
    lines: int | None = None
    home: int | None = None
    threads: str | None = None


def make_request(options: RunOptions) -> RunRequest:
    """Return the request. Raise a UserError for an option that the experiment does not have."""
    experiment = with_settings(load_experiment(options.experiment), options.settings)
    _check_known(options, experiment)
    chosen = (*options.variants, *options.ops)
    known = [variant.name for variant in experiment.variants]
    check_names(f"operation of {experiment.name}", options.ops, known)
    _check_hold(options, experiment, chosen)
    _check_ns("--work", options.work_ns)
    machine = load_machine(options.machine or experiment.machine)
    cpus = cpu_count(machine)
    limit = cpus if options.cpus is None else options.cpus
    _check_home(options.home, machine)
    return RunRequest(
        experiment, machine, cpus, options.cpus, options.seed, options.placement, chosen,
        threads=None if options.threads is None else thread_counts(options.threads, limit),
        cap=options.cap,
        hold_ns=options.hold_ns,
        work_ns=options.work_ns,
        lines=options.lines,
        home=options.home,
        pairs=load_pairs(machine, options.first) if experiment.sweep == "pairs" else (),
    )  # fmt: skip


def with_settings(experiment: Experiment, settings: tuple[str, ...]) -> Experiment:
    """Return the experiment with other values of its inputs, each given as ``NAME=VALUE``.

    The values also replace those of variants. Such an input is exactly known: it has no range and
    is not calibrated. With another value of a switch the conditions are not those of the published
    figures, which are left out.
    """
    original = {param.name: param for param in experiment.params}
    params = dict(original)
    for text in settings:
        name, equals, number = text.partition("=")
        if not equals:
            raise UserError(f"--set {text}: give NAME=VALUE, as in --set {_example(experiment)}")
        check_names(f"input of {experiment.name}", [name], original)
        try:
            value = float(number)
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            raise UserError(f"--set {text}: '{number}' is not a number of at least 0")
        declared = original[name]
        if declared.takes == "switch" and value not in (0, 1):
            raise UserError(f"--set {text}: give 0 or 1 ({declared.unit})")
        if declared.takes == "whole" and not value.is_integer():
            raise UserError(f"--set {text}: give a whole number ({declared.unit})")
        source = f"--set; {declared.value:g} in {experiment.path.name}"
        params[name] = Param(name, value, declared.unit, source, takes=declared.takes)
    variants = tuple(
        replace(variant, params=tuple(p for p in variant.params if params[p[0]] is original[p[0]]))
        for variant in experiment.variants
    )
    switched = any(
        param.takes == "switch" and param.value != original[name].value
        for name, param in params.items()
    )
    published = () if switched else experiment.published
    return replace(
        experiment, params=tuple(params.values()), variants=variants, published=published
    )


def _example(experiment: Experiment) -> str:
    first = next(iter(experiment.params), None)
    return "NAME=1" if first is None else f"{first.name}={first.value:g}"


def _check_known(options: RunOptions, experiment: Experiment) -> None:
    given = {
        "op": bool(options.ops),
        "from": options.first is not None,
        "hold": options.hold_ns is not None,
        "work": options.work_ns is not None,
        "lines": options.lines is not None,
        "home": options.home is not None,
        "threads": options.threads is not None,
    }
    for name, is_given in given.items():
        if is_given and name not in experiment.options:
            having = [e for e in experiment_names() if name in load_experiment(e).options]
            raise UserError(
                f"{experiment.name} has no option --{name}, which is for {' and '.join(having)}"
            )
    if experiment.sweep != "pairs":
        return
    unused = {
        "--cpus": options.cpus is not None,
        "--placement": options.placement != "os",
        "--cap": options.cap is not None,
    }
    for name, is_given in unused.items():
        if is_given:
            why = "it runs on two CPUs, --from CPU chooses the first"
            raise UserError(f"{experiment.name} has no option {name}: {why}")


def _check_hold(options: RunOptions, experiment: Experiment, chosen: tuple[str, ...]) -> None:
    _check_ns("--hold", options.hold_ns)
    if options.hold_ns is None:
        return
    having = [variant.name for variant in experiment.variants if variant.hold]
    if chosen and not set(chosen) & set(having):
        raise UserError(
            f"{chosen[0]} of {experiment.name} has no hold time: --hold is for {', '.join(having)}"
        )


def _check_home(home: int | None, machine: Machine) -> None:
    if home is None:
        return
    nodes = 1 + max(int(cpu["node"]) for cpu in machine.cpus)
    if home >= nodes:
        raise UserError(f"--home {home}: {machine.name} has NUMA nodes 0 to {nodes - 1}")


def _check_ns(option: str, ns: float | None) -> None:
    if ns is not None and (not math.isfinite(ns) or not 0 <= ns <= MOST_NS):
        raise UserError(f"{option} {ns:g}: give nanoseconds, 0 or more, at most {MOST_NS:,}")


def thread_counts(text: str, limit: int, why: str = ", the number of CPUs") -> tuple[int, ...]:
    """Return the numbers in a list such as ``1,2,64``, sorted, each once.

    ``why`` ends the message on a number above the limit.
    """
    counts = set()
    for word in text.split(","):
        if not (word.strip().isascii() and word.strip().isdigit()):
            raise UserError(f"--threads {text}: give whole numbers with commas, as in 1,2,64")
        counts.add(int(word))
    for count in counts:
        if not 1 <= count <= limit:
            raise UserError(f"--threads {text}: {count} is not in 1 to {limit}{why}")
    return tuple(sorted(counts))
