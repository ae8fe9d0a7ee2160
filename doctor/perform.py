# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Performs the steps of the command doctor, which reads, judges, and outputs the verdict."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from common.errors import UserError, telling
from common.output import check_writable, to_json, write_atomic
from common.paths import ALONE, typed
from common.show.terminal import show
from doctor.facts.archive import read_host, read_tar
from doctor.facts.facts import Facts, read_facts
from doctor.facts.load import DomainLoad
from doctor.judge.root_domains import Cost
from doctor.judge.severity import Policy
from doctor.judge.verdict import LIVE, NOTHING, Predictor, Verdict, judge
from doctor.predict.prediction import Prediction
from doctor.predict.stored import stored
from doctor.profiles.perf_file import read_profile
from doctor.verdict import batch
from doctor.verdict.data import verdict_data
from doctor.verdict.view import verdict_parts

if TYPE_CHECKING:
    from doctor.plan.plan import Plan

# --predict simulates only loads that cost at least this by the stored table.
_NEGLIGIBLE = 1e-5
# A plan that saves a smaller part of what partitions could save is said to do so.
_MOST_OF = 0.8


@dataclass(frozen=True)
class JudgeRequest:
    """The arguments of the command line. ``batch`` is nagios, prometheus or None."""

    host: Path | None
    profiles: tuple[Path, ...]
    live: bool
    seconds: int
    plan: Path | None
    html: Path | None
    batch: str | None
    out: Path | None
    threshold: float
    predict: bool
    limit: int
    as_json: bool

    @property
    def machine(self) -> bool:
        """Whether to judge a machine, and not only profiles."""
        return self.host is not None or self.live or not self.profiles


def _check(request: JudgeRequest) -> None:
    """Refuse options that contradict each other, before the long work."""
    if request.host is not None and request.live:
        raise UserError("--live judges this host, HOST.tar another: leave one of them out")
    if request.batch is not None and request.as_json:
        raise UserError("--batch and --json exclude each other: both print the verdict")
    if request.batch == "prometheus" and request.out is None:
        raise UserError("--batch prometheus writes a file: name it with --out FILE")
    if request.batch is None and request.out is not None:
        raise UserError("--out names the file of --batch: add --batch, or make a page with --html")
    if not 0 <= request.threshold <= 100:
        raise UserError(f"--threshold {request.threshold}: give a percentage from 0 to 100")
    if request.predict and ALONE:
        raise UserError(
            "--predict needs the simulator, which schedshard-doctor does not contain: leave it out "
            "to use the stored table, or run 'schedshard doctor' of the whole package"
        )
    if request.predict and not request.machine:
        raise UserError(
            "--predict needs the groups of real-time threads, which a profile does not show: give "
            "HOST.tar, or --live"
        )
    if request.plan is not None:
        _check_plan(request.plan)
    for path in (request.html, request.out):
        if path is not None:
            check_writable(path)


def _check_plan(page: Path) -> Path:
    """Return the path of the plan's JSON. A plan replaces or removes only what --plan wrote."""
    from doctor.plan.plan import is_plan

    data = page.with_suffix(".json")
    if data == page:
        raise UserError(f"--plan {data}: the JSON for 'apply' gets this name: name the page .txt")
    for path in (page, data):
        check_writable(path)
        if os.path.lexists(path) and not is_plan(path):
            raise UserError(f"--plan {page}: {path} exists and is no plan: give another file name")
    return data


def _facts(request: JudgeRequest) -> tuple[Facts | None, str]:
    if request.host is not None:
        return read_facts(read_tar(request.host), str(request.host)), str(request.host)
    if not request.machine:
        return None, "profile only"
    if request.batch is None:
        print(f"looking at this host for {request.seconds} s", file=sys.stderr)
    return read_facts(read_host(request.seconds), LIVE), LIVE


def _predictor(request: JudgeRequest, facts: Facts | None) -> Predictor:
    """Return the function that predicts a load's cost. With --predict it simulates costly loads."""
    if facts is None or not request.predict:
        return stored
    from doctor.predict.predict import predict

    ends = time.monotonic() + request.limit

    def now(facts: Facts, load: DomainLoad) -> Cost:
        kept = stored(facts, load)
        if isinstance(kept, Prediction) and kept.now.share.value < _NEGLIGIBLE:
            return kept
        return predict(facts, load, request.host is None, max(ends - time.monotonic(), 1.0))

    return now


def _leave(request: JudgeRequest, verdict: Verdict) -> int:
    """Print the verdict or write it, and return the exit status."""
    if request.out is not None:
        write_atomic(request.out, batch.prometheus(verdict))
    if request.batch == "nagios":
        sys.stdout.write(batch.nagios(verdict))
        return batch.nagios_status(verdict)
    if request.batch == "prometheus":
        return NOTHING
    if request.as_json:
        sys.stdout.write(to_json(verdict_data(verdict)))
    else:
        show(verdict_parts(verdict))
    return verdict.status


def _plan(verdict: Verdict) -> Plan | str:
    """Return the plan, or why there is none; findings then say that instead of advising a plan."""
    from doctor.plan.plan import make_plan

    plan = make_plan(verdict)
    if isinstance(plan, str):
        for finding in verdict.findings:
            if "--plan" in finding.command:
                finding.remedy += f" No plan is possible now: {plan.rstrip('.')}."
                finding.command = typed("doctor collect > collect.sh")
    elif plan.gain < _MOST_OF * verdict.saved:
        part = f"{plan.gain / verdict.saved:.0%} of what partitions could save"
        for finding in verdict.findings:
            if "--plan" in finding.command:
                finding.remedy += f" The plan saves {part}, and says what prevents more."
    return plan


def _write(request: JudgeRequest, verdict: Verdict, plan: Plan | str) -> list[str]:
    """Write the page and the plan, and return what to say about them."""
    from doctor.plan.plan import plan_data, plan_text

    lines = []
    if request.plan is not None:
        # Minutes may have passed since the first check.
        data = _check_plan(request.plan)
        if isinstance(plan, str):
            # Otherwise somebody would apply the plan of an earlier run.
            for old in (request.plan, data):
                with telling(f"cannot remove {old}"):
                    old.unlink(missing_ok=True)
            lines.append(f"no plan: {plan}")
        else:
            write_atomic(request.plan, plan_text(verdict, plan))
            write_atomic(data, to_json(plan_data(verdict, plan)))
            lines.append(f"wrote {request.plan} and {data}")
    if request.html is not None:
        from doctor.verdict.html import verdict_page

        write_atomic(request.html, verdict_page(verdict, plan))
        lines.append(f"wrote {request.html}")
    return lines


def _perform(request: JudgeRequest) -> int:
    _check(request)
    read = [read_profile(path) for path in request.profiles]
    facts, source = _facts(request)
    policy = Policy(request.threshold / 100, batch.severities(request.out))
    verdict = judge(source, facts, read, _predictor(request, facts), policy)
    lines = _write(request, verdict, _plan(verdict))
    status = _leave(request, verdict)
    for line in lines:
        print(line, file=sys.stderr)
    return status


def perform(request: JudgeRequest) -> int:
    """Judge, and return the exit status. A Nagios plugin reports bad input as 'unknown'."""
    try:
        return _perform(request)
    except UserError as error:
        if request.batch != "nagios":
            raise
        print(batch.nagios_line(batch.UNKNOWN, str(error)))
        return batch.UNKNOWN
