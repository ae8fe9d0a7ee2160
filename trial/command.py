# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the verbs and options of schedshard-trial, which scripts/trial_alone.py packs."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from common.errors import UserError
from common.output import check_writable, write_atomic
from common.paths import VERSION
from trial.compare import comparison
from trial.form import Host, State, Trial, load_trial, trial_text
from trial.host import Machine, allowed_cpus
from trial.measuring import (
    EndError,
    Measured,
    Watch,
    interruptible,
    measure,
    sums_of,
    tool_bytes,
    unpacked,
)
from trial.page import page
from trial.plan import described, make_plan
from trial.predict.stored import Predictor

NAME = "schedshard-trial"
_ABOUT = """Measure in two minutes what shared cache lines cost on this machine, and compare the
costs with the model's predictions. The machine must be idle. Nothing is installed, and only the
file of --out stays, which names no host, user or program: read the file, and send it."""
_INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise the error for main()."""
        raise UserError(f"{message} (see --help)")


def _minutes(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.1 <= value <= 600:
        raise argparse.ArgumentTypeError(f"'{text}' is not a time: give 0.1 to 600 minutes")
    return value


def _parser() -> _Parser:
    parser = _Parser(prog=NAME, description=_ABOUT)
    parser.add_argument("--version", action="version", version=f"%(prog)s {VERSION}")
    parser.add_argument(
        "verb", nargs="?", default="run", choices=("run", "show", "compare"),
        help="run: measure this machine [default]. show: print the page of a trial. compare: say "
        "what differs between trials, or between the kernels of one trial.",
    )  # fmt: skip
    parser.add_argument("files", nargs="*", metavar="FILE", help="trials, for show and compare")
    parser.add_argument(
        "--dry-run", action="store_true", help="list what 'run' would start, as user and as root"
    )
    parser.add_argument(
        "--minutes", type=_minutes, default=2.0, metavar="N", help="how long to run [2]"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("trial.json"), metavar="FILE", help="default: trial.json"
    )
    parser.add_argument(
        "--busy", action="store_true",
        help="measure although other programs run; a marked trial, which cannot judge the model",
    )  # fmt: skip
    return parser


def _tell(line: str) -> None:
    print(f"{NAME}: {line}", file=sys.stderr, flush=True)


def _dry_run(host: Host, minutes: float) -> None:
    sums = sums_of(tool_bytes(host.arch))
    root = os.geteuid() == 0
    print("\n".join(described(make_plan(host, minutes, root), sums)))
    if not root:
        print("\nAs root, with all programs there:")
        plan = make_plan(host, minutes, root=True, everywhere=True)
        print("\n".join(described(plan, sums)))


def _judged(measured: Measured, machine: Machine, host: Host, watch: Watch, before: float) -> Trial:
    predictor = Predictor(host)
    return Trial(
        VERSION, host, (machine.kernel(),), State(before, watch.load, machine.battery()),
        tuple(replace(figure, predicted=predictor.of(figure)) for figure in measured.figures),
        costs=measured.costs, ended=measured.ended,
    )  # fmt: skip


def _run(minutes: float, out: Path, busy: bool) -> int:
    check_writable(out)
    machine = Machine()
    host = machine.host(allowed_cpus())
    tools = tool_bytes(host.arch)
    root = os.geteuid() == 0
    plan = make_plan(host, minutes, root)
    for line in plan.skipped:
        _tell(line)
    watch = Watch(machine, busy)
    watch.look(1.0)
    before = watch.load
    measured = Measured()
    with unpacked(tools) as folder:
        measure(plan, folder, watch, _tell, measured)
    if not measured.runs:
        _tell(f"{measured.ended}: {measured.why}; no run is complete, so nothing is written")
        return _INTERRUPTED if measured.ended == "interrupted" else 1
    trial = replace(_judged(measured, machine, host, watch, before), tools=sums_of(tools))
    write_atomic(out, trial_text(trial))
    notes = [f"Predictions: {Predictor(host).why}.", f"Written: {out}"]
    if measured.ended:
        notes.insert(0, f"Ended early: {measured.why}. Complete runs kept: {len(measured.runs)}.")
        _tell(notes[0])
    print(page(trial, notes), end="")
    return _INTERRUPTED if measured.ended == "interrupted" else int(bool(measured.ended))


def _verb(arguments: Sequence[str]) -> int:
    given = _parser().parse_args(arguments)
    files = [Path(name) for name in given.files]
    least, most = {"run": (0, 0), "show": (1, 1), "compare": (1, 2)}[given.verb]
    if not least <= len(files) <= most:
        needed = {"run": "no file", "show": "one file", "compare": "one or two files"}[given.verb]
        raise UserError(f"{given.verb} takes {needed}, not {len(files)}")
    if given.verb == "compare":
        print(comparison([(path.name, load_trial(path)) for path in files]), end="")
        return 0
    if given.verb == "show":
        print(page(load_trial(files[0])), end="")
        return 0
    if given.dry_run:
        _dry_run(Machine().host(allowed_cpus()), given.minutes)
        return 0
    return _run(given.minutes, given.out, given.busy)


def main(arguments: Sequence[str]) -> int:
    """Run the program and return its exit status: 0, 1 for an early end, 2 for bad input."""
    if platform.system() != "Linux":
        print(f"{NAME}: this is {platform.system()}, and Linux is needed", file=sys.stderr)
        return 2
    try:
        with interruptible():
            return _verb(arguments)
    except UserError as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return error.status
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except EndError as ended:
        print(f"{NAME}: {ended.end}: {ended}; nothing is written", file=sys.stderr)
        return _INTERRUPTED if ended.end == "interrupted" else 1


def start() -> None:
    """Run the program of this process."""
    sys.exit(main(sys.argv[1:]))
