# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reports how much of a run was spent in calls of code without instrumentation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from model.results.raw import Outside
from record.exact.blocks import ASSEMBLY
from record.names.readable import readable

_MOST = 3  # functions that a sentence names

Sets = Sequence[tuple[str, ...]]  # the sets of callees that a block may have, by number


def in_source_form(sets: Sets) -> Sets:
    """Return the sets with names as the source code writes them."""
    plain = readable(name.removeprefix(ASSEMBLY) for names in sets for name in names)

    def shown(name: str) -> str:
        bare = name.removeprefix(ASSEMBLY)
        return name[: len(name) - len(bare)] + plain.get(bare, bare)

    return [tuple(map(shown, names)) for names in sets]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _names(counts: Counter[str], unit: float, form: str) -> str:
    return ", ".join(f"{name} {count / unit:{form}}" for name, count in counts.most_common(_MOST))


def away(sets: Sets, meta: Mapping[str, Any], busy_ns: float) -> Outside:
    """Return the report's figures: calls, their modelled ns and share of the time, by function."""
    calls: Counter[str] = Counter()
    for number, times in meta["away"]:
        names = sets[int(number)]
        for name in names:
            calls[name] += int(times) // len(names)
    return Outside(
        calls=calls.total(), ns=round(float(meta["away_ns"]), 3),
        share=float(meta["away_ns"]) / busy_ns if busy_ns else 0.0, functions=calls.most_common(),
    )  # fmt: skip


def sentences(outside: Outside) -> list[str]:
    """Return the report's sentences. Locked instructions, whose lines are missing, come first."""
    calls = Counter(dict(outside.functions))
    locked = Counter(
        {name.removeprefix(ASSEMBLY): n for name, n in calls.items() if name.startswith(ASSEMBLY)}
    )
    texts = []
    if locked:
        texts.append(
            f"{_counted(locked.total(), 'locked instruction')} of inline assembly ran outside of "
            "the model: each counts as 100 cycles (an estimate), and lines that they share are "
            f"missing: {_names(locked, 1, ',.0f')}; build with the compiler's atomic operations"
        )
    rest = Counter({name: n for name, n in calls.items() if not name.startswith(ASSEMBLY)})
    count = outside.calls - locked.total()
    if count:
        took = "took 100 cycles" + (" each" if count > 1 else "")
        share = outside.share * count / outside.calls
        texts.append(
            f"{_counted(count, 'call')} of code without instrumentation {took} (an estimate) and "
            f"{share:.1%} of the time: {_names(rest, 1, ',.0f')}"
        )
    return texts


def measured(sets: Sets, meta: Mapping[str, Any], outside: Outside, busy_ns: float) -> str:
    """Return a sentence on the host time of code without instrumentation, which differs by run."""
    ticks: Counter[str] = Counter()
    for number, spent in meta["away_host"]:
        ticks["+".join(dict.fromkeys(sets[int(number)]))] += int(spent)
    here = ticks.total() / float(meta["ticks_per_second"])
    rest = (busy_ns - outside.ns) / 1e9
    share = here / (here + rest) if here else 0.0
    most = _names(ticks, ticks.total() or 1, ".0%")
    return (
        f"code without instrumentation ran {here:.3f} s, measured on this host. The other code is "
        f"predicted to run {rest:.3f} s, so {share:.0%} of the time was measured: {most}"
    )
