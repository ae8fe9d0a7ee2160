# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The option --watch: judge this host in rounds, write metrics, and report a high cost."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from common.errors import UserError
from common.output import write_atomic
from doctor.facts.archive import read_host
from doctor.facts.facts import Facts, read_facts
from doctor.judge.predictions import percent, share_words
from doctor.judge.verdict import Verdict, judge
from doctor.verdict import batch
from doctor.watch.count import PROC, Counting, counters

# If a count exceeds /proc's by this factor, it contains wake-ups that /proc does not show.
_MORE = 1.1
_SOURCE = "this host"


@dataclass(frozen=True)
class WatchRequest:
    """The arguments of --watch.

    A round measures for ``seconds``, and starts ``every`` seconds after the last one. ``threshold``
    is a share of the machine's CPU time; ``rounds`` rounds in a row above it raise the alarm.
    ``count`` is the number of rounds, 0 for no end. ``out`` is the file of metrics.
    """

    seconds: int
    every: int
    threshold: float
    rounds: int
    count: int
    out: Path | None


class Alarm:
    """Reports once when the cost exceeds the threshold, and once when it no longer does."""

    def __init__(self, threshold: float, rounds: int) -> None:
        self.threshold, self.rounds = threshold, rounds
        self.above, self.below = 0, 0
        self.on = False

    def tell(self, cost: float) -> str | None:
        """Add a round's cost. Return the message to print, or None."""
        high = cost > self.threshold
        self.above = self.above + 1 if high else 0
        self.below = 0 if high else self.below + 1
        if not self.on and self.above >= self.rounds:
            self.on = True
            return f"above {percent(self.threshold)} for {self.above} rounds"
        if self.on and self.below >= self.rounds:
            self.on = False
            return f"no longer above {percent(self.threshold)}, for {self.below} rounds"
        return None


def scaled(facts: Facts, counted: float) -> Facts:
    """Return the facts with the counted wake-ups per second, if /proc shows clearly fewer.

    The additional wake-ups are attributed to the threads that /proc shows, in proportion.
    """
    known = sum(each.voluntary or 0 for each in facts.threads if not each.stopper)
    there = counted * facts.seconds
    if not known or there <= _MORE * known:
        return facts
    factor = there / known
    threads = tuple(
        each if each.voluntary is None or each.stopper
        else replace(each, voluntary=round(each.voluntary * factor))
        for each in facts.threads
    )  # fmt: skip
    return replace(facts, threads=threads)


def metrics(verdict: Verdict, by: str, counted: float | None, alarm: Alarm) -> str:
    """Return the metrics of a verdict and of the watch, as text for Prometheus."""
    lines = batch.prometheus(verdict)
    lines += batch.gauge(
        "cost_alarm", "1 while the cost has been above the threshold for enough rounds",
        [("", float(alarm.on))],
    )  # fmt: skip
    if counted is not None:
        lines += batch.gauge(
            "rt_wakeups_counted_per_second", "Real-time wake-ups per second, by the tracepoint",
            [(f'{{by="{by}"}}', counted)],
        )  # fmt: skip
    return lines


def _say(text: str) -> None:
    print(text, flush=True)


def watch(
    request: WatchRequest,
    read: Callable[[int], dict[str, str]] = read_host,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Watch for the requested rounds, or for ever. A failed round prints an error and goes on."""
    alarm = Alarm(request.threshold, request.rounds)
    counting = Counting(counters(request.seconds), request.seconds)
    done = 0
    try:
        while True:
            began = time.monotonic()
            try:
                counting.start()
                facts = read_facts(read(request.seconds), _SOURCE)
                by, counted = counting.result()
                if counted is not None:
                    facts = scaled(facts, counted)
                verdict = judge(_SOURCE, facts, [])
            except UserError as error:
                counting.stop()
                print(f"schedshard: {error}", file=sys.stderr, flush=True)
            else:
                said = alarm.tell(verdict.cost.value)
                if request.out is not None:
                    write_atomic(request.out, metrics(verdict, by, counted, alarm))
                if said is not None or done == 0:
                    source = "wake-ups from /proc" if by == PROC else f"wake-ups counted by {by}"
                    _say(
                        f"sharing costs {share_words(verdict.cost)} of the machine's CPU time"
                        f"{f', {said}' if said else ''} ({source})"
                    )
            done += 1
            if done == request.count:
                return 0
            sleep(max(0.0, request.every - (time.monotonic() - began)))
    finally:
        counting.stop()
