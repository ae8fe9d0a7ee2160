# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats a verdict as sentences, and names from programs as plain text."""

from __future__ import annotations

from common.errors import printable
from common.show.format import percent, significant
from record.gate.judge import APPEARED, FLOOR, GREW, UNSURE, Growth, Judged, Row

_LONGEST = 200


def plain(text: str, most: int | None = None) -> str:
    """Return text for one line of any format. What is not printable is escaped."""
    shown = printable(text)
    return shown if most is None or len(shown) <= most else f"{shown[:most]}..."


def name_of(row: Row) -> str:
    """Return the name of a row's object, shortened if it is very long."""
    return plain(row.object, _LONGEST)


def _change(growth: Growth) -> str:
    """Return the relative change in parentheses, with its interval if there are several runs."""
    if not growth.before:
        return ""
    ends = f", {growth.low:+.1%} to {growth.high:+.1%}" if growth.sure else ""
    return f" ({growth.relative:+.1%}{ends})"


def figures(row: Row, per: str) -> str:
    """Return HITM and share of cycles, before and after, as text."""
    before, after = significant(row.hitm.before), significant(row.hitm.after)
    hitm = f"HITM per {per} {before} to {after}{_change(row.hitm)}"
    was, now = percent(row.share.before), percent(row.share.after)
    return f"{hitm}, share of all cycles {was} to {now}{_change(row.share)}"


def where(row: Row) -> str:
    """Return the source line that accesses a row's line, or ""."""
    return plain(f"{row.place.file}:{row.place.line}") if row.place is not None else ""


def sentence(row: Row, per: str) -> str:
    """Return a sentence on one row: its verdict and its figures."""
    verb = {APPEARED: "appeared", GREW: "grew", UNSURE: "may have grown"}.get(row.verdict, "is")
    at = f", accessed at {where(row)}" if row.place is not None else ""
    return f"{name_of(row)}{at}, {verb} on {plain(row.machine)}: {figures(row, per)}"


def _count(number: int, verb: str) -> str:
    return f"{number} line{'' if number == 1 else 's'} {verb}"


def limit_words(judged: Judged) -> str:
    """Return the limit as a percentage."""
    return f"{judged.limit * 100:.10g}%"


def verdict(judged: Judged) -> str:
    """Return the sentence that sums up the verdict."""
    since = f"since {plain(judged.baseline)}"
    appeared, grew = judged.those(APPEARED), judged.those(GREW)
    unsure = judged.those(UNSURE)
    if judged.whole:
        return f"gate: {'failed' if judged.failed else 'passed'}: {judged.whole} {since}"
    doubt = f"; {_count(len(unsure), 'may have grown: give more runs')}" if unsure else ""
    if not judged.failed:
        what = f"no line appeared or grew by more than {limit_words(judged)}"
        many = _count(len(judged.rows), f"with at least {FLOOR:.1%} of all cycles")
        return f"gate: passed: {what} {since} ({many}){doubt}"
    counts = [
        _count(len(appeared), "appeared") if appeared else "",
        _count(len(grew), f"grew by more than {limit_words(judged)}") if grew else "",
    ]
    worst = max((*appeared, *grew), key=lambda row: row.share.after - row.share.before)
    what = " and ".join(filter(None, counts))
    return f"gate: failed: {what} {since}; the worst: {sentence(worst, judged.per)}{doubt}"
