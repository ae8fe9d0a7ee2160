# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Scores predictions of whole workloads against pairs that others published.

A pair is what somebody measured before and after one change. The effect of a pair is the ratio of
operations per second, after to before. The error is the factor between the predicted and the
published effect. machines/published/whole.toml has the pairs, whole-predicted.toml the predictions.
All texts that state this score take it from whole_sentence().
"""

import math
import statistics
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from common.paths import MACHINES

PAIRS = MACHINES / "published/whole.toml"
PREDICTED = MACHINES / "published/whole-predicted.toml"
RECORDERS = ("exact", "emulator", "guest")
WORKLOAD = "workload"  # the kind, in results
NOTHING = 0.02  # a smaller change counts as none
INSIDE = 0.9
FEW = 10


@dataclass(frozen=True)
class Whole:
    """A pair: the published effect, and the predicted one by recorder."""

    name: str
    machine: str
    source: str
    published: float
    object: str
    threads: int
    predicted: Mapping[str, float] = field(default_factory=dict)
    objects: Mapping[str, str] = field(default_factory=dict)
    chosen: bool = False  # a number of the model was chosen on the published effect

    @property
    def link(self) -> str:
        """Return the first address of the source, or the name of the file that has it."""
        words = self.source.replace(";", " ").split()
        return next((word for word in words if word.startswith("https://")), PAIRS.name)

    def factor(self, recorder: str) -> float:
        """Return the factor between the predicted and the published effect, at least 1."""
        return math.exp(abs(math.log(self.predicted[recorder] / self.published)))

    def sign_right(self, recorder: str) -> bool:
        """Return whether the workload becomes faster, slower or neither, as published."""
        return _sign(self.predicted[recorder]) == _sign(self.published)

    def object_right(self, recorder: str) -> bool:
        """Return whether the hottest object before the change is the published one."""
        return self.objects.get(recorder) == self.object


@dataclass(frozen=True)
class WholeScore:
    """The score of some pairs. 90% of errors are at most ``inside``, also on machines left out."""

    pairs: int
    machines: int  # machine files
    threads: int  # at most
    signs: int
    objects: int
    median: float
    worst: float
    inside: float

    def sentence(self) -> str:
        """Return the score in words."""
        return (
            f"whole workloads: sign right in {self.signs} of {self.pairs} published cases, "
            f"median error {self.median:.2f}"
        )


def _sign(effect: float) -> int:
    return (effect > 1 + NOTHING) - (effect < 1 - NOTHING)


def effect_of(pair: Mapping[str, Any]) -> float:
    """Return the published effect of a pair: operations per second, after to before."""
    ratio = float(pair["after"]) / float(pair["before"])
    return 1 / ratio if pair.get("figure") == "time" else ratio


def read_whole(data: Mapping[str, Any], predicted: Mapping[str, Any]) -> list[Whole]:
    """Return the pairs of a file that were predicted."""
    rows = {row["name"]: row for row in predicted["predicted"]}
    return [
        Whole(
            pair["name"], pair.get("preset", pair["machine"]), pair["source"], effect_of(pair),
            pair["object"], int(pair.get("threads", 16)),
            {name: float(row[name]) for name in RECORDERS if name in row},
            {name: row.get(f"{name}_object", "") for name in RECORDERS if name in row},
            bool(pair.get("chosen")),
        )
        for pair in (*data["pair"], *data["kernel"])
        if (row := rows.get(pair["name"])) is not None
    ]  # fmt: skip


def _quantile(factors: Sequence[float]) -> float:
    """Return the least of the factors that at least 90% of all do not exceed."""
    return sorted(factors)[math.ceil(INSIDE * len(factors) - 1e-9) - 1]


def _mine(wholes: Sequence[Whole], recorder: str) -> list[Whole]:
    return [pair for pair in wholes if recorder in pair.predicted and not pair.chosen]


def score(wholes: Sequence[Whole], recorder: str) -> WholeScore:
    """Return the score of a recorder. Pairs on which a number was chosen do not count."""
    mine = _mine(wholes, recorder)
    factors = [pair.factor(recorder) for pair in mine]
    return WholeScore(
        len(mine),
        len({pair.machine for pair in mine}),
        max(pair.threads for pair in mine),
        sum(pair.sign_right(recorder) for pair in mine),
        sum(pair.object_right(recorder) for pair in mine),
        statistics.median(factors),
        max(factors),
        _quantile(factors),
    )


def left_out(wholes: Sequence[Whole], recorder: str) -> tuple[int, int]:
    """Return how many pairs lie in their intervals, and how many pairs have an interval.

    A pair's interval is its predicted effect, divided and multiplied by the error within which 90%
    of the pairs on other machine files lie.
    """
    mine = _mine(wholes, recorder)
    within = [
        pair.factor(recorder) <= _quantile(others)
        for pair in mine
        if (others := [other.factor(recorder) for other in mine if other.machine != pair.machine])
    ]
    return sum(within), len(within)


def parts(wholes: Sequence[Whole]) -> dict[str, str]:
    """Return what a table of the score shows for each recorder."""
    made = {}
    for recorder in RECORDERS:
        if _mine(wholes, recorder):
            total = score(wholes, recorder)
            within, of = left_out(wholes, recorder)
            made[recorder] = (
                f"{total.sentence()}; object right in {total.objects}; 90% within "
                f"{total.inside:.2f}; inside the interval of other machines {within} of {of}"
            )
    return made


@cache
def known_whole() -> tuple[Whole, ...]:
    """Return the project's predicted pairs. There are none before the first prediction."""
    if not PREDICTED.exists():
        return ()
    with PAIRS.open("rb") as pairs, PREDICTED.open("rb") as predicted:
        return tuple(read_whole(tomllib.load(pairs), tomllib.load(predicted)))


def whole_validation(recorder: str = "exact") -> dict[str, Any]:
    """Return the validation of whole workloads, as results and pages show it.

    A recorder without predicted pairs has the score of the emulator, whose accesses it records. A
    recorder with only a few pairs has at least the emulator's error.
    """
    mine = next((name for name in (recorder, "emulator") if _mine(known_whole(), name)), None)
    if mine is None:
        return {"kind": WORKLOAD, "curves": 0, "machines": 0, "threads": 0, "factor": 1.0,
                "said": "not validated for whole workloads"}  # fmt: skip
    total = score(known_whole(), mine)
    # 90% of a few pairs are all of them.
    wide = score(known_whole(), "emulator").inside if total.pairs < FEW else 1.0
    return {
        "kind": WORKLOAD, "curves": total.pairs, "machines": total.machines,
        "threads": total.threads, "factor": max(total.inside, wide), "said": total.sentence(),
    }  # fmt: skip


def whole_sentence(recorder: str = "exact") -> str:
    """Return the score that predictions of whole workloads print."""
    return str(whole_validation(recorder)["said"])
