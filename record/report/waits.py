# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds objects whose waits no layout removes, because several CPUs write the same bytes."""

from collections.abc import Mapping, Sequence
from itertools import chain

from model.results import raw
from model.results.c2c import Waited
from model.results.lines import part_of
from record.names.memory import field_of, member_of
from record.names.things import Thing
from record.report.sharing import FALSE, kind_of

# An object gets no sentence if its share of all cycles, less the gain of advice, is below this.
_LEAST = 0.05
_SENTENCES = 3
# A counter has at most this share of accesses that do not add to it.
_READ = 0.1


def has_users(line: raw.Line) -> bool:
    """Whether more than one CPU accessed a line."""
    return len(set(chain.from_iterable(access.by for access in line.accesses))) > 1


def at_lines(run: raw.Run) -> float:
    """Return the cycles of all shared lines; a result lists only the hottest of these lines."""
    if run.waited_cycles is not None:
        return run.waited_cycles
    return sum(line.waited for line in run.lines if has_users(line))


def _field(thing: Thing, address: int) -> str:
    """Return the member at an address; a library's object, such as a lock, counts as one member."""
    whole = thing.whole(address - thing.address)
    if whole is None:
        return field_of(thing, address, None) or thing.name
    if thing.kind in ("variable", "local"):
        return f"{thing.name}{whole[2]}"
    return member_of(thing, whole[2])


def _is_counter(thing: Thing, line: raw.Line, counted: raw.Access) -> bool:
    """Whether threads only add to a known word that is no lock, and hardly anybody reads it."""
    offset = line.start + counted.offset - thing.address
    known = thing.field(offset) or thing.size <= counted.size
    if not known or thing.whole(offset) is not None:
        return False
    uses = [access for access in line.accesses if access.offset == counted.offset]
    return sum(use.records for use in uses if use.kind != "rmw") <= _READ * counted.records


def waits(
    lines: Mapping[str, Sequence[tuple[raw.Line, Thing | None]]],
    work_cycles: Mapping[str, float],
    advised: Mapping[str, Mapping[str, float]],
) -> list[Waited]:
    """Return the objects that cost most, with the part that padding cannot save.

    All mappings are by machine, that of ``advised`` below the objects with advice: its gain. The
    cost of an object is that of all its lines.
    """
    waited = []
    for machine, named in lines.items():
        groups: dict[tuple[str, str], list[tuple[raw.Line, Thing]]] = {}
        for line, thing in named:
            if thing is not None and has_users(line):
                groups.setdefault((thing.kind, thing.name), []).append((line, thing))
        for (_, name), group in groups.items():
            share = part_of(sum(line.waited for line, _ in group), work_cycles[machine])
            share -= max(0.0, advised.get(name, {}).get(machine, 0.0))
            line, thing = max(group, key=lambda pair: pair[0].waited)
            hottest = max(line.accesses, key=lambda access: access.waited)
            writers = set(
                chain.from_iterable(
                    access.by
                    for access in line.accesses
                    if access.stores and access.offset < hottest.offset + hottest.size
                    and hottest.offset < access.offset + access.size
                )
            )  # fmt: skip
            if share < _LEAST or kind_of(line) == FALSE or len(writers) < 2:
                continue
            field = _field(thing, line.start + hottest.offset)
            waited.append(
                Waited(
                    object=name, field=field, machine=machine, writers=len(writers), share=share,
                    advised=name in advised, counter=_is_counter(thing, line, hottest),
                )
            )  # fmt: skip
    return sorted(waited, key=lambda entry: -entry.share)[:_SENTENCES]
