# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The terminal's view of a recorded program: machines, what would help, lines, limits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from schedshard.c2c.report.callers import dearest_ways
from schedshard.c2c.report.elsewhere.latent import latent_lines
from schedshard.c2c.report.sharing import FALSE, cycles_each, hitm, stored
from schedshard.c2c.report.steady import steady_words
from schedshard.c2c.report.taken import taken_table
from schedshard.experiments.model_error import validation_words
from schedshard.show.format import access_place, line_place, percent, significant
from schedshard.show.sheet import Sheet

_ACCESSES = 8
# The view shows the accesses of so many lines, and of others with this share of all HITM.
_ALWAYS, _HOT = 2, 0.01
# Lines with a smaller share of all cycles are only counted: most belong to the C library.
FOLDED = 0.005


def _machines(report: Mapping[str, Any]) -> Sheet:
    numbers = ("far HITM", "near HITM", "lines", "cycles", "at lines", "virtual ms")
    partial = " (PARTIAL)" if report["partial"] else ""
    made = Sheet(
        f"{report['experiment']}: {report['guest']}, predicted{partial}",
        "machine", *numbers, right=numbers,
    )  # fmt: skip
    for variant in report["variants"]:
        waited = sum(line["cycles"] for line in variant["lines"])
        made.add_row(
            variant["name"], f"{variant['hitm_remote']:,}", f"{variant['hitm_local']:,}",
            f"{variant['lines_total']:,}", significant(variant["work_cycles"]),
            percent(waited / variant["work_cycles"]) if variant["work_cycles"] else "-",
            significant(variant["model"]["virtual_ns"] / 1e6),
        )  # fmt: skip
    return made


def _between(interval: Mapping[str, Any] | None, write: Callable[[float], str]) -> str:
    if interval is None:
        return "-"
    return f"{write(interval['low'])} to {write(interval['high'])}"


def is_folded(line: Mapping[str, Any]) -> bool:
    """Whether a line costs too little to be shown, or only one thread used it."""
    return bool(line["cycle_share"] < FOLDED or _has_one_thread(line))


def _has_one_thread(line: Mapping[str, Any]) -> bool:
    return len(line["threads"]) < 2


def _lines(variant: Mapping[str, Any]) -> RenderableType:
    folded = sum(map(is_folded, variant["lines"]))
    word = "line" if folded == 1 else "lines"
    below = f"take{'s' if folded == 1 else ''} less than {FOLDED:.1%} of all cycles each"
    if any(map(_has_one_thread, variant["lines"])):
        below += f", or only one thread used {'it' if folded == 1 else 'them'}"
    if folded and folded == len(variant["lines"]):
        return Text(f"on {variant['name']} {folded} shared {word} {below}: --json has them")
    numbers = (
        "#", "HITM", "far", "near", "loads", "stores", "locked", "cycles/load", "90%", "of all",
        "threads",
    )  # fmt: skip
    made = Sheet(
        f"Contended lines on {variant['name']} ({len(variant['lines'])} of "
        f"{variant['lines_total']} lines that were shared and written)",
        numbers[0], "object", "sharing", *numbers[1:], right=numbers,
        rigid=("sharing", *numbers), optional=("loads", "stores", "locked"),
    )  # fmt: skip
    for index, line in enumerate(variant["lines"]):
        if is_folded(line):
            continue
        made.add_row(
            str(index),
            line_place(line),
            line["sharing"],
            percent(line["hitm_share"]),
            *(f"{line[key]:,}" for key in ("hitm_remote", "hitm_local")),
            *(f"{line[key]:,}" for key in ("loads", "stores", "locked")),
            significant(line["avg_load_cycles"]),
            _between(line.get("interval"), significant),
            percent(line["cycle_share"]),
            str(len(line["threads"])),
        )
    if folded:
        made.caption = f"{folded} more shared {word} {below}: --json has them"
    return made


def _taken(line: Mapping[str, Any], variant: Mapping[str, Any]) -> list[RenderableType]:
    """Return the table of which cache took the line from which; empty below two caches."""
    found = taken_table(line, variant.get("caches", ()))
    if found is None:
        return []
    columns, rows = found
    made = Sheet(None, *columns, right=columns[2:] if len(rows[0]) == 3 else columns[1:])
    for row in rows:
        made.add_row(*row)
    return [made]


def _accesses(number: int, line: Mapping[str, Any]) -> RenderableType:
    numbers = ("HITM", "store", "offset", "cycles", "records", "threads")
    made = Sheet(
        f"line {number}: {line_place(line)}, "
        f"{line['type'] or 'type not known'}, {line['sharing']} sharing",
        *numbers[:3], "field", "kind", *numbers[3:], "function", "source", right=numbers,
        rigid=("kind", "source"), optional=("kind", "records"),
    )  # fmt: skip
    total = hitm(line) or 1
    for access in line["accesses"][:_ACCESSES]:
        made.add_row(
            f"{hitm(access) / total:.1%}",
            f"{access['store_share']:.1%}",
            f"{access['offset']:#x}",
            access["field"] or "-",
            f"{access['kind']} {access['size']}",
            significant(cycles_each(access)),
            f"{access['records']:,}",
            _some(access["threads"]),
            *access_place(access),
        )
    below = [f"{percent(share)} of its cycles: {way}" for share, way in dearest_ways(line)]
    if line["allocated"]:
        below.append(f"allocated by {_way(line['allocated'])}")
    below += [
        f"{other['object']}: allocated by {_way(other['allocated'])}"
        for other in line.get("beside", ())
        if other["allocated"]
    ]
    return Group(made, Text("".join(f"  {words}\n" for words in below))) if below else made


def _way(frames: Sequence[Mapping[str, Any]]) -> str:
    """Return the calls that led to an allocation as text, the program's own if there are any."""
    own = [frame for frame in frames if frame.get("own", True)]
    return " < ".join(f"{f['function']} ({f['source']})" for f in (own or frames)[:5])


def _some(threads: list[int]) -> str:
    """Return the numbers of at most four threads, or else their count and range."""
    if len(threads) <= 4:
        return ",".join(map(str, threads))
    return f"{len(threads)}: {threads[0]}..{threads[-1]}"


def advice_lines(report: Mapping[str, Any]) -> list[str]:
    """Return a sentence per piece of advice, with its gain on each machine."""
    said = []
    for advice in report["advice"]:
        gains = []
        for name, gain in advice["machines"].items():
            word = "fewer" if gain["fewer"] >= 0 else "more"
            sign = 1 if gain["fewer"] >= 0 else -1
            found = gain.get("interval")
            sure = ""
            if found is not None:
                ends = sorted((sign * found["low"], sign * found["high"]))
                sure = f" (90%: {ends[0]:.1%} to {ends[1]:.1%})"
            gains.append(f"{abs(gain['fewer']):.1%}{sure} {word} cycles on {name}")
        said.append(f"{advice['words']}: {', '.join(gains)}")
    return said


def headline(report: Mapping[str, Any]) -> str:
    """Return the first sentence of a report: what shared lines cost, and what can be gained."""
    shares = [
        (
            sum(line["cycles"] for line in each["lines"] if not _has_one_thread(line))
            / each["work_cycles"],
            each["name"],
        )
        for each in report["variants"]
        if each["work_cycles"]
    ]
    if not shares:
        return "no shared line was accessed: nothing to gain"
    share, name = max(shares)
    said = f"shared lines take {percent(share)} of all cycles on {name}"
    if not report.get("advised", True):
        return said
    gains = [gain["fewer"] for each in report["advice"] for gain in each["machines"].values()]
    if gains:
        return f"{said}: up to {percent(max(gains))} fewer cycles are possible"
    return f"{said}: nothing to gain"


def _is_hot(line: Mapping[str, Any]) -> bool:
    return bool(line["hitm_share"] >= _HOT or stored(line) >= _HOT * line["cycles"] > 0)


def _nothing_gained(report: Mapping[str, Any]) -> str:
    """Return a sentence on why there is no advice."""
    if all(is_folded(line) for v in report["variants"] for line in v["lines"]):
        return f"nothing to gain: no shared line takes {FOLDED:.1%} of all cycles"
    every = [line for v in report["variants"] for line in v["lines"]]
    hot = [line for line in every if _is_hot(line) and not is_folded(line)]
    if any(line["sharing"] == FALSE for line in hot):
        return (
            "nothing to gain: false sharing was found, but nothing to set apart that would save "
            "cycles; bytes that one access covers stay together"
        )
    return "nothing to gain: no false sharing whose end would save cycles was found"


def record_view(report: Mapping[str, Any]) -> RenderableType:
    """Return the whole view of a report."""
    program = report["program"]
    steady = steady_words(report)
    shown: list[RenderableType] = [Text(headline(report))]
    shown += [Text(steady)] if steady is not None else []
    shown += [Text(""), _machines(report)]
    if program["signal"]:
        shown.append(
            Text(f"the program was ended by {program['signal']}: shown is what came before")
        )
    shown += [Text(sentence) for sentence in advice_lines(report)]
    if not report["advice"] and report.get("advised", True):
        shown.append(Text(_nothing_gained(report)))
    shown += [Text(sentence) for sentence in latent_lines(report)]
    for index, variant in enumerate(report["variants"]):
        shown.append(Text(""))
        shown.append(_lines(variant))
        # Each CPU makes the same accesses on all machines.
        for number, line in enumerate(variant["lines"] if index == 0 else ()):
            worth = number < _ALWAYS or _is_hot(line)
            if worth and (hitm(line) or stored(line)) and not is_folded(line):
                shown += [_accesses(number, line), *_taken(line, variant)]
    shown += [Text(f"note: {note}") for note in report["notes"]]
    shown += [Text(f"validation: {said}") for said in validation_words(report)]
    shown.append(Text(f"limits: {'; '.join(report['limits'])}."))
    return Group(*shown)
