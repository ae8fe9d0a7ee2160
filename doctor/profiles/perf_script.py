# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses the text of `perf script`: one sample per line or per stack, with any set of fields."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from common.errors import UserError
from doctor.facts.values import clean
from doctor.profiles.profile import Hit, Sampled, Tally

_EVENT = r"(?P<event>[A-Za-z][\w:/.,=@-]{0,80}?):(?=\s|$)"
_COMM = r"^\s{0,20}(?P<comm>\S.{0,40}?)\s+"
_TID = r"(?P<tid>[0-9]{1,10}(?:/[0-9]{1,10})?)\s+(?:\[[0-9]+\]\s+)?(?:[A-Za-z.]{4,5}\s+)?"
_PERIOD = r"(?:(?P<period>[0-9]{1,18})\s+)?"
_REST = r"(?P<rest>.*)$"
# A sample's first line: process, numbers of process and CPU, flags, time, period, event. The first
# pattern that matches decides.
_HEADS = tuple(
    re.compile(parts)
    for parts in (
        rf"{_COMM}{_TID}[0-9]+\.[0-9]+:\s*{_PERIOD}{_EVENT}{_REST}",
        rf"{_COMM}{_TID}{_PERIOD}{_EVENT}{_REST}",
        rf"{_COMM}{_TID}[0-9]+\.[0-9]+:\s*{_PERIOD}{_REST}",
        rf"{_COMM}{_PERIOD}{_EVENT}{_REST}",
    )
)
_FRAME = re.compile(
    r"^\s*[0-9a-f]{4,16}\s+(?P<symbol>\[unknown\]|\S+?)(?:\+0x[0-9a-f]+)?"
    r"(?:\s+(?P<dso>\(.*\)))?\s*$"
)
_KERNEL = re.compile(r"\(\[(?:kernel|\w+\])|\(.*/vmlinux|\.ko(?:\.\w+)?\)")
_HIGH = re.compile(r"^\s*[89a-f][0-9a-f]{15}\s")


def _hit(line: str, frame: re.Match[str], process: str, weight: int) -> Hit:
    symbol = clean(frame["symbol"])
    dso = frame["dso"] or ""
    # perf names a guest's kernel [guest.kernel.kallsyms.PID], and its process [guest/PID].
    guest = dso.startswith(("([guest.", "([guest/")) or process.startswith("[guest/")
    kernel = not guest and bool(_HIGH.match(line) or _KERNEL.search(dso))
    return Hit("" if symbol == "[unknown]" else symbol, weight, process, kernel, guest)


class _Reader:
    """The samples so far. ``waiting`` is a sample's event, process and period before its frame."""

    def __init__(self) -> None:
        self.hits: dict[str, Tally] = defaultdict(Tally)
        self.weights: Counter[str] = Counter()
        self.samples: Counter[str] = Counter()
        self.waiting: tuple[str, str, int] | None = None
        self.heads = 0
        self.bare = True  # the line before is blank, or there is none

    def _take(self, event: str, hit: Hit) -> None:
        self.samples[event] += 1
        self.hits[event].add(hit)
        self.weights[event] += int(hit.weight)
        self.waiting = None

    def _head(self, line: str) -> bool:
        head = next((match for head_pattern in _HEADS if (match := head_pattern.match(line))), None)
        if head is None:
            return False
        self.heads += 1
        event = clean(head.groupdict().get("event") or "")
        process = clean(head["comm"])
        if tid := head.groupdict().get("tid"):
            process += f":{tid.partition('/')[0]}"
        period = max(int(head["period"] or 1), 1)
        frame = _FRAME.match(head["rest"])
        if frame is not None:
            self._take(event, _hit(head["rest"], frame, process, period))
        else:
            self.waiting = (event, process, period)
        return True

    def line(self, line: str) -> None:
        frame = _FRAME.match(line)
        if frame is not None and (self.waiting is not None or self.bare):
            # The first frame is the function that ran. The frames below are its callers.
            event, process, period = self.waiting or ("", "", 1)
            self._take(event, _hit(line, frame, process, period))
        elif frame is None and line.strip() and not self._head(line):
            named = re.match(
                r"^(\S.{0,40}?)(?:\s+[0-9]+(?:/[0-9]+)?)?(?:\s+\[[0-9]+\])?\s+(.*)$", f"{line} "
            )
            inner = _FRAME.match(named[2]) if named is not None else None
            if named is not None and inner is not None:
                self._take("", _hit(named[2], inner, clean(named[1]), 1))
            elif self.bare and len(line) < 80:
                process = re.sub(r"\s+[0-9]+(/[0-9]+)?(\s+\[[0-9]+\])?$", "", line)
                self.waiting = ("", clean(process), 1)
        self.bare = not line.strip()


def parse_script(lines: Iterable[str], source: str) -> Sampled | None:
    """Return the hits, or None if there is no sample.

    A sample's weight is its period. If there are several events, the one with the most samples is
    chosen, among those that count cycles or time if there are any. Samples without a symbol are a
    UserError.
    """
    reader = _Reader()
    for line in lines:
        if line[:1] != "#":
            reader.line(line)
    if not reader.samples:
        if reader.heads > 1:
            raise UserError(
                f"profile {source} looks like perf script, but has no column 'sym': "
                "give the text of 'perf script -F comm,tid,time,period,event,ip,sym,dso'"
            )
        return None
    timed = [event for event in reader.samples if "cycles" in event or "clock" in event]
    chosen = max(timed or reader.samples, key=lambda event: reader.samples[event])
    notes = []
    if len(reader.samples) > 1:
        notes.append(f"{len(reader.samples)} events in {source}: {chosen or 'one'} is judged")
    return Sampled(
        "perf script", reader.hits[chosen].hits(), chosen, reader.samples[chosen],
        notes=tuple(notes), total=float(reader.weights[chosen]),
    )  # fmt: skip
