# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The text of `perf script`: one sample a line, or one sample a stack."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

from schedshard.doctor.facts.values import clean
from schedshard.doctor.profiles.profile import base_name

_HEAD = re.compile(
    r"^\s*\S.{0,40}?\s+\d+(?:/\d+)?\s+(?:\[\d+\]\s+)?(?:\S{4,5}\s+)?\d+\.\d+:\s+"
    r"(?:(?P<period>\d{1,18})\s+)?(?P<event>[A-Za-z][\w:/.,=-]{0,80}?):(?:\s+(?P<rest>.*))?$"
)
_FRAME = re.compile(r"^\s*[0-9a-f]{3,16}\s+(?P<symbol>\S+?)(?:\+0x[0-9a-f]+)?\s+\(")


def parse_script(text: str) -> tuple[str, dict[str, float]] | None:
    """Return the event and each function's own share, or None: there is no sample.

    A sample weighs as much as its period. Of several events, one that counts cycles or time and has
    the most samples has priority, else the one with the most samples.
    """
    weights: dict[str, Counter[str]] = defaultdict(Counter)
    samples: Counter[str] = Counter()
    waiting: tuple[str, int] | None = None
    for line in text.split("\n"):
        if head := _HEAD.match(line):
            event = clean(head["event"])
            weight = max(int(head["period"] or 1), 1)
            samples[event] += 1
            frame = _FRAME.match(head["rest"] or "")
            if frame is not None:
                weights[event][base_name(clean(frame["symbol"]))] += weight
                waiting = None
            else:
                waiting = (event, weight)
        elif waiting is not None and (frame := _FRAME.match(line)):
            # The first frame is where the CPU was; those below called it.
            weights[waiting[0]][base_name(clean(frame["symbol"]))] += waiting[1]
            waiting = None
        elif not line.strip():
            waiting = None
    seen = [event for event, counted in weights.items() if counted]
    if not seen:
        return None
    timed = [event for event in seen if "cycles" in event or "clock" in event]
    chosen = max(timed or seen, key=lambda event: samples[event])
    total = sum(weights[chosen].values())
    return chosen, {name: weight / total for name, weight in weights[chosen].items()}
