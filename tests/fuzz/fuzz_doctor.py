# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fuzz targets of doctor: archives, profiles and cgroups are judged, or refused in one line.

    python tests/fuzz/fuzz_doctor.py archive -runs=20000 NEW_CORPUS tests/fuzz/doctor/archive

The others are profile and cgroups.

An input of `archive` that begins with "@" is lists of the collector as text: "@NAME" and its lines.
The seed `whole` supplies lists that are missing. Other inputs are the bytes of an archive. An input
of `cgroups` has the form of text, and goes on to the files of a plan.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

with atheris.instrument_imports(include=["doctor"]):
    from common.errors import UserError
    from doctor.facts.archive import read_tar
    from doctor.facts.facts import read_facts
    from doctor.judge.verdict import Verdict, judge
    from doctor.plan.files import plan_files
    from doctor.plan.plan import make_plan
    from doctor.profiles.perf_file import read_profile
    from doctor.verdict import batch
    from doctor.verdict.data import verdict_data

# perf reads these itself, and is not under test.
PERF_DATA = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
PLACE = Path(tempfile.mkdtemp(prefix="schedshard-fuzz-")) / "input"


def lists_of(text: str) -> dict[str, str]:
    """The lists in an input."""
    lists: dict[str, str] = {}
    name = ""
    for line in text.split("\n"):
        if line.startswith("@"):
            name = line[1:]
            lists[name] = ""
        elif name and line:
            lists[name] += f"{line}\n"
    return lists


WHOLE = lists_of((HERE / "doctor" / "archive" / "whole").read_text(encoding="utf-8"))


def whole(data: bytes) -> dict[str, str]:
    """Return the lists of the seed `whole`, each replaced by the input's if that contains it."""
    given = lists_of(data.decode("utf-8", "replace"))
    return WHOLE | {name: text for name, text in given.items() if name in WHOLE}


def judged(verdict: Verdict) -> None:
    """Check that every form of output accepts the verdict."""
    assert verdict.sentence.isprintable(), repr(verdict.sentence)
    verdict_data(verdict)
    assert batch.nagios(verdict).startswith("SCHEDSHARD ")
    batch.prometheus(verdict)


def archive(data: bytes) -> None:
    """Read an archive, and judge it."""
    if data.startswith(b"@"):
        lists = whole(data)
    else:
        PLACE.write_bytes(data)
        lists = read_tar(PLACE)
    judged(judge("host", read_facts(lists, "host"), []))


def profile(data: bytes) -> None:
    """Read a profile, and judge it."""
    if data.startswith(PERF_DATA):
        return
    PLACE.write_bytes(data)
    judged(judge("profile only", None, [read_profile(PLACE)]))


def cgroups(data: bytes) -> None:
    """Read a tree of cgroups, judge it, and make a plan."""
    facts = read_facts(whole(data), "host")
    verdict = judge("host", facts, [])
    judged(verdict)
    assert verdict.domains is not None
    for text in plan_files(make_plan(facts, verdict.domains, verdict.loads)).values():
        assert "\0" not in text


TARGETS: dict[str, Callable[[bytes], None]] = {
    "archive": archive, "profile": profile, "cgroups": cgroups,
}  # fmt: skip


def main() -> None:
    """Fuzz the target that the first argument names."""
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        said = ""
        try:
            target(data)
        except UserError as error:
            said = str(error)
        assert said.isprintable(), repr(said)
        # A line may quote some names, each of at most 512 characters.
        assert len(said) < 8000

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
