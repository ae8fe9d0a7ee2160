# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The rows of `bench library`: what is compared, and whether the ratio meets its target."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from model.results.saved import Saved

LARGE_CPUS = 200
NEVER_WORSE = 1 / 1.1
LARGE_POOLS = 1.5


@dataclass(frozen=True)
class Figure:
    """Nanoseconds or bytes, with an interval. ``samples`` are those of a simulation, in order."""

    value: float
    low: float
    high: float
    samples: tuple[float, ...] = ()


@dataclass(frozen=True)
class Row:
    """One comparison. ``pool``: the higher target on large machines applies to it."""

    title: str
    ours: str
    peers: tuple[str, ...]
    pool: bool = False
    why: str = ""  # why the target is missed, where it is


_TWO = (
    "two threads alone: ours and the peers execute two locked instructions each, and the model "
    "charges the loads of our tables one after the other"
)
_WIDE = "two or more CPUs share each of our lines; the lines of a pool have fewer"
_LINES = "our set has a line per shard, a packed set one or two lines in all"
_TABLES = "ours has a line per shard, on the shard's node, and tables that point to it"

POOL_PEERS = ("claim-packed", "claim-words")
POOLS = (
    Row("claim and put, a pool", "claim-pool", POOL_PEERS, True, _TWO),
    Row("claim and put, slots", "claim-slots", POOL_PEERS, True, _TWO),
    Row("claim and put, 16 CPUs per line", "claim-near", POOL_PEERS, True, _WIDE),
)
OTHERS = (
    Row(
        "set and clear",
        "set-clear",
        ("set-clear-packed",),
        why="all CPUs share one line in both sets; ours looks up the bit's place between the two "
        "writes, and another CPU takes the line meanwhile",
    ),
    Row(
        "add",
        "cpu-counter",
        ("atomic-inc", "counter-split", "counter-cached", "counter-striped"),
        why="no thread waits for another, so only instructions count",
    ),
    Row(
        "100 adds, a sum",
        "read-cpu",
        ("read-word", "read-cached", "read-striped"),
        why="our sum reads a line for each CPU that ever added, a striped counter's 64 lines, one "
        "word's a single line; but additions to these wait for each other",
    ),
    Row(
        "100 adds, an estimate",
        "read-cpu-about",
        ("read-split",),
        why="each addition also reads how much of its CPU's count the estimate contains; the model "
        "waits for that load",
    ),
)
SETS = ("plain", "ck", "hwloc")
ONE_THREAD = (
    ("set+clear", None, Row("set and clear", "sbm", ("plain", "ck"))),
    ("iterate", "empty", Row("walk, empty", "sbm", SETS, why=_LINES)),
    ("iterate", "1/16", Row("walk, one in 16", "sbm", SETS, why=_LINES)),
    ("iterate", "full", Row("walk, full", "sbm", SETS, why=_LINES)),
    ("create", None, Row("make and free a set", "sbm", SETS, why=_TABLES)),
    ("create", None, Row("make and free a pool", "claim-pool", ("claim-words",), why=_TABLES)),
    ("create", None, Row("make and free slots", "claim-slots", ("claim-words",), why=_TABLES)),
)
MEMORY = (
    Row("memory of a set", "sbm", ("plain", "ck"), why=_TABLES),
    Row("memory of a pool", "claim-pool", ("claim-words",), why=_TABLES),
    Row("memory of slots", "claim-slots", ("claim-words",), why=_TABLES),
)

# rust/bench measures these.
CRATES = (
    Row(
        "crates: claim and drop a pool's",
        "Pool::claim and drop",
        ("sbitmap 0.1, get and put",),
        why="each of ours takes four calls of the C library, and a check for waiters",
    ),
    Row(
        "crates: claim and drop a slot",
        "Slots::claim and drop",
        ("sbitmap 0.1, get and put",),
        why="each of ours takes four calls of the C library, and a check for waiters",
    ),
    Row(
        "crates: add",
        "Statistic::add",
        ("AtomicI64 alone on its line",),
        why="two calls of the C library, one of which asks for the CPU",
    ),
)


def ratio(ours: Figure, peers: Sequence[Figure]) -> Figure:
    """Return the best peer's figure divided by ours, with its interval.

    The interval comes from the ratio of each sample. Without samples, it spans the ends of both
    intervals.
    """
    value = min(peer.value for peer in peers) / ours.value
    if ours.samples:
        from model.run.uncertain.intervals import interval

        each = zip(ours.samples, *(peer.samples for peer in peers), strict=True)
        found = interval([min(theirs) / own for own, *theirs in each])
        return Figure(value, found.low, found.high)
    low = min(peer.low for peer in peers) / ours.high
    return Figure(value, low, min(peer.high for peer in peers) / ours.low)


class Told(Saved, kw_only=True):
    """A figure as it is saved."""

    value: float
    low: float
    high: float


class LibraryRow(Saved, kw_only=True):
    """A row as it is saved. ``sure``: the whole range meets the target, or misses it."""

    row: str
    threads: int | None
    unit: str
    ours: str
    best_peer: str
    figures: dict[str, Told]
    ratio: Told
    target: float
    met: bool
    sure: bool
    why: str
    work_ns: float


def compared(
    row: Row, figures: Mapping[str, Figure], cpus: int, threads: int | None, unit: str = "ns",
    work_ns: float = 0.0,
) -> LibraryRow | None:  # fmt: skip
    """Return a row, or None if ours, or every peer, was not measured."""
    ours = figures.get(row.ours)
    peers = {name: figures[name] for name in row.peers if name in figures}
    if ours is None or not peers:
        return None
    best = min(peers, key=lambda name: peers[name].value)
    found = ratio(ours, list(peers.values()))
    large = row.pool and cpus >= LARGE_CPUS and threads == cpus
    target = LARGE_POOLS if large else NEVER_WORSE
    met = found.value >= target
    return LibraryRow(
        row=row.title,
        threads=threads,
        unit=unit,
        ours=row.ours,
        best_peer=best,
        figures={row.ours: _told(ours), **{name: _told(one) for name, one in peers.items()}},
        ratio=_told(found),
        target=target,
        met=met,
        sure=found.low >= target if met else found.high < target,
        why="" if met else row.why,
        work_ns=work_ns,
    )


def _told(figure: Figure) -> Told:
    return Told(value=figure.value, low=figure.low, high=figure.high)
