# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows machines, remedies, lines and limits of a recorded program on a terminal."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from common.show.format import percent, significant
from common.show.sheet import Sheet
from model.results.c2c import Advice, Frame, Recorded, RecordedLine, RecordedVariant
from model.results.saved import Interval
from record.report.callers import dearest_ways
from record.report.picture import LEGEND, picture
from record.report.sharing import FALSE

_ACCESSES = 8
# The view shows the accesses of the first _ALWAYS lines, and of others with _HOT of all HITM.
_ALWAYS, _HOT = 2, 0.01
# Lines with a smaller share of all cycles are only counted: most belong to the C library.
FOLDED = 0.005


def _machines(report: Recorded) -> Sheet:
    counted = any(variant.ns_per_operation is not None for variant in report.variants)
    numbers = ["far HITM", "near HITM", "lines", "cycles", "at lines", "virtual ms"]
    numbers += ["ns/op"] if counted else []
    partial = " (PARTIAL)" if report.partial else ""
    made = Sheet(
        f"{report.experiment}: {report.guest}, predicted{partial}",
        "machine", *numbers, right=numbers,
    )  # fmt: skip
    for variant in report.variants:
        made.add_row(
            variant.name, f"{variant.hitm_remote:,}", f"{variant.hitm_local:,}",
            f"{variant.lines_total:,}", significant(variant.work_cycles),
            percent(variant.at_lines / variant.work_cycles) if variant.work_cycles else "-",
            significant(variant.model.virtual_ns / 1e6),
            *([_ns(variant.ns_per_operation)] if counted else ()),
        )  # fmt: skip
    return made


def _ns(ns: float | None) -> str:
    return "-" if ns is None else significant(ns)


def _between(interval: Interval | None, write: Callable[[float], str]) -> str:
    return "-" if interval is None else f"{write(interval.low)} to {write(interval.high)}"


def is_folded(line: RecordedLine) -> bool:
    """Whether a line costs too little to be shown, or only one thread used it."""
    return line.cycle_share < FOLDED or _has_one_thread(line)


def _has_one_thread(line: RecordedLine) -> bool:
    return len(line.threads) < 2


def _lines(variant: RecordedVariant) -> RenderableType:
    if not variant.lines_total:
        return Text(f"on {variant.name} no line was shared and written")
    folded = sum(map(is_folded, variant.lines))
    word = "line" if folded == 1 else "lines"
    below = f"take{'s' if folded == 1 else ''} less than {FOLDED:.1%} of all cycles each"
    if any(map(_has_one_thread, variant.lines)):
        below += f", or only one thread used {'it' if folded == 1 else 'them'}"
    if folded and folded == len(variant.lines):
        return Text(f"on {variant.name} {folded} shared {word} {below}: --json has them")
    numbers = (
        "#", "HITM", "far", "near", "loads", "stores", "locked", "cycles/load", "90%", "of all",
        "threads",
    )  # fmt: skip
    made = Sheet(
        f"Contended lines on {variant.name} ({len(variant.lines)} of "
        f"{variant.lines_total} lines that were shared and written)",
        numbers[0], "object", "sharing", *numbers[1:], right=numbers,
        rigid=("sharing", *numbers), optional=("loads", "stores", "locked"),
    )  # fmt: skip
    for index, line in enumerate(variant.lines):
        if is_folded(line):
            continue
        counts = (line.hitm_remote, line.hitm_local, line.loads, line.stores, line.locked)
        made.add_row(
            str(index), line.place, line.sharing, percent(line.hitm_share),
            *(f"{count:,}" for count in counts), significant(line.avg_load_cycles),
            _between(line.interval, significant), percent(line.cycle_share), str(len(line.threads)),
        )  # fmt: skip
    if folded:
        made.caption = f"{folded} more shared {word} {below}: --json has them"
    return made


def _accesses(number: int, line: RecordedLine) -> RenderableType:
    numbers = ("HITM", "store", "offset", "cycles", "records", "threads")
    made = Sheet(
        f"line {number}: {line.place}, {line.type or 'type not known'}, {line.sharing} sharing",
        *numbers[:3], "field", "kind", *numbers[3:], "function", "source", right=numbers,
        rigid=("kind", "source"), optional=("kind", "records"),
    )  # fmt: skip
    total = line.hitm or 1
    for access in line.accesses[:_ACCESSES]:
        made.add_row(
            f"{access.hitm / total:.1%}",
            f"{access.store_share:.1%}",
            f"{access.offset:#x}",
            access.field or "-",
            f"{access.kind} {access.size}",
            significant(access.cycles_each),
            f"{access.records:,}",
            _some(access.threads),
            *access.place,
        )
    below = [f"{percent(share)} of its cycles: {way}" for share, way in dearest_ways(line)]
    if line.allocated:
        below.append(f"allocated by {_way(line.allocated)}")
    below += [
        f"{other.object}: allocated by {_way(other.allocated)}"
        for other in line.beside
        if other.allocated
    ]
    return Group(made, Text("".join(f"  {words}\n" for words in below))) if below else made


def _way(frames: Sequence[Frame]) -> str:
    """Return the calls that led to an allocation as text, the program's own if there are any."""
    own = [frame for frame in frames if frame.own]
    return " < ".join(frame.words for frame in (own or frames)[:5])


def _some(threads: list[int]) -> str:
    """Return the numbers of at most four threads, or else their count and range."""
    if len(threads) <= 4:
        return ",".join(map(str, threads))
    return f"{len(threads)}: {threads[0]}..{threads[-1]}"


def _advice(advice: Advice, variants: Sequence[RecordedVariant]) -> str:
    """Return the sentence of a piece of advice, with its gain on each machine."""
    gains, costs = [], {variant.name: variant.ns_per_operation for variant in variants}
    for name, gain in advice.machines.items():
        word = "fewer" if gain.shown >= 0 else "more"
        sign = 1 if gain.shown >= 0 else -1
        sure = ""
        if gain.interval is not None:
            ends = sorted((sign * gain.interval.low, sign * gain.interval.high))
            sure = f" (90%: {ends[0]:.1%} to {ends[1]:.1%})"
        text = f"{abs(gain.shown):.1%}{sure} {word} cycles on {name}"
        if now := costs.get(name):
            text += f" ({_ns(now * (1 - gain.shown))} instead of {_ns(now)} ns per operation)"
        gains.append(text)
    return f"{advice.change}: {', '.join(gains)}"


def _sentences(report: Recorded) -> list[str]:
    """Return what to change, what that gains, and what only another design can gain."""
    worth = [
        (max(gain.shown for gain in advice.machines.values()), _advice(advice, report.variants))
        for advice in report.advice
    ]
    # A bound is worth less than a gain.
    worth += [(wait.share / 2, wait.words) for wait in report.waits]
    return [words for _, words in sorted(worth, key=lambda entry: -entry[0])]


def headline(report: Recorded) -> str:
    """Return the first sentence of a report: what to change and what that gains, or why nothing."""
    sentences = _sentences(report)
    if sentences:
        return sentences[0]
    shares = [
        (variant.at_lines / variant.work_cycles, variant.name)
        for variant in report.variants
        if variant.work_cycles
    ]
    if not shares:
        return "no shared line was accessed: nothing to gain"
    share, name = max(shares)
    text = f"shared lines take {percent(share)} of all cycles on {name}"
    if not report.advised:
        return text
    if _only_unknown(_false_lines(report)):
        return f"{text}: some are falsely shared, in memory of unknown objects"
    return f"{text}: nothing to gain"


def short_headline(report: Recorded) -> str:
    """Return the first sentence of a page, in at most 20 words if names are short."""
    if not report.advice or headline(report) != _advice(report.advice[0], report.variants):
        return headline(report).partition(" (a bound")[0]
    best = report.advice[0]
    name, gain = max(best.machines.items(), key=lambda pair: pair[1].shown)
    return f"{gain.shown:.1%} fewer cycles on {name}: {best.edit or best.words}"


def _is_hot(line: RecordedLine) -> bool:
    return line.hitm_share >= _HOT or line.store_cycles >= _HOT * line.cycles > 0


def _false_lines(report: Recorded) -> list[RecordedLine]:
    """Return the falsely shared lines that are worth a remedy."""
    every = [line for variant in report.variants for line in variant.lines]
    return [
        line for line in every if line.sharing == FALSE and _is_hot(line) and not is_folded(line)
    ]


def _only_unknown(lines: Sequence[RecordedLine]) -> bool:
    """Whether nothing was tried, because no line contains an object that could be moved."""
    return bool(lines) and all(line.kind == "unknown" for line in lines)


def _nothing_gained(report: Recorded) -> str:
    """Return a sentence on why there is no advice."""
    every = [line for variant in report.variants for line in variant.lines]
    if all(map(is_folded, every)):
        return f"nothing to gain: no shared line takes {FOLDED:.1%} of all cycles"
    lines = _false_lines(report)
    if _only_unknown(lines):
        return (
            f"no advice: false sharing was found at {lines[0].object}, but the recorder does not "
            "know the object there, so it cannot try a cache line for each part of it"
        )
    if lines:
        return (
            "nothing to gain: false sharing was found, but a trial that separated these fields "
            "saved no more than noise; bytes that one access covers stay together"
        )
    return "nothing to gain: no false sharing was found whose removal saves more than noise"


def _memory(report: Recorded) -> list[RenderableType]:
    """Return the hottest line as memory, a letter per byte, before the best edit and after it."""
    drawing = picture(report)
    if drawing is None or is_folded(drawing.line):
        return []
    text = f"{drawing.line.place} as memory, {LEGEND}\n  now    {drawing.before}\n"
    text += "".join(
        f"  {'edited' if not number else '      '} {row}\n"
        for number, row in enumerate(drawing.after)
    )
    return [Text(text)]


def record_view(report: Recorded) -> RenderableType:
    """Return the whole view of a report."""
    shown: list[RenderableType] = [Text(headline(report))]
    more = _sentences(report)[1:]
    if not report.advice and not report.waits and report.advised:
        more = [_nothing_gained(report)]
    shown += [*map(Text, more), Text(""), _machines(report)]
    if report.program.signal:
        shown.append(
            Text(f"{report.program.signal} ended the program: the report covers the time before")
        )
    for index, variant in enumerate(report.variants):
        shown.append(Text(""))
        shown.append(_lines(variant))
        # Each CPU makes the same accesses on all machines.
        for number, line in enumerate(variant.lines if index == 0 else ()):
            worth = number < _ALWAYS or _is_hot(line)
            if worth and (line.hitm or line.store_cycles) and not is_folded(line):
                shown.append(_accesses(number, line))
    shown += _memory(report)
    shown += [Text(f"note: {note}") for note in report.notes]
    shown += [Text(f"validation: {sentence}") for sentence in report.validation]
    shown.append(Text(f"limits: {'; '.join(report.limits)}."))
    return Group(*shown)
