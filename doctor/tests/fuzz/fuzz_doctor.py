# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Fuzz targets of doctor: archives, profiles and cgroups are judged, or refused in one line.

    python doctor/tests/fuzz/fuzz_doctor.py archive -runs=20000 NEW_CORPUS

The others are profile and cgroups. The target adds its seeds.

An input of `archive` that begins with "@" is lists of the collector as text: "@NAME" and its lines.
An invented host supplies lists that are missing; its archive and its lists are the seeds. Other
inputs are the bytes of an archive. An input of `cgroups` has the form of text.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import atheris  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2]), str(HERE.parent)]

with atheris.instrument_imports(include=["doctor"]):
    from common.errors import UserError
    from doctor.facts.archive import read_tar
    from doctor.facts.facts import read_facts
    from doctor.judge.verdict import Verdict, judge
    from doctor.profiles.perf_file import read_profile
    from doctor.verdict import batch
    from doctor.verdict.data import verdict_data
    from doctor_tree import Machine, Task, build, collect

# perf reads these itself, and is not under test.
PERF_DATA = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
FOLDER = Path(tempfile.mkdtemp(prefix="schedshard-fuzz-"))
PLACE = FOLDER / "input"


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


def invented_tree(name: str, busy: int, seconds: int) -> Path:
    """Write the tree of a host of 8 CPUs with a FIFO thread on each, at one moment."""
    tasks = [
        Task(100 + cpu, f"w{cpu}", allowed=str(cpu), cgroup=f"/app{cpu // 2}.service")
        for cpu in range(8)
    ]
    tasks = [replace(task, voluntary=200_000 * seconds) for task in tasks]
    stat = "".join(f"cpu{cpu} {busy} 0 9 {90 + 50 * seconds} 0 0 0 0\n" for cpu in range(8))
    files = {
        "proc/interrupts": "CAL: 1 2 3 4 5 6 7 8 Function call interrupts\n",
        "proc/cpuinfo": "vendor_id\t: GenuineIntel\nmodel name\t: Intel(R) Xeon(R)\n",
        "sys/kernel/debug/sched/features": "RT_PUSH_IPI\n",
    }
    cmdline = "isolcpus=domain,6-7 nohz_full=6-7"
    machine = Machine(
        cpus=8, node_cpus=4, cmdline=cmdline, tasks=tasks, uptime=100 + seconds, stat=stat,
        files=files,
    )  # fmt: skip
    return build(FOLDER / name, machine)


def invented_host() -> Path:
    """Return the archive of that host."""
    first, second = invented_tree("first", 1, 0), invented_tree("second", 90, 2)
    done = collect(first, "-o", FOLDER / "host.tar", second=second)
    assert done.returncode == 0, done.stderr
    return FOLDER / "host.tar"


HOST = invented_host()
WHOLE = read_tar(HOST)


def made_seeds(target: str) -> Path:
    """Write seeds that need no file here: an archive and its lists, or the start of a profile."""
    folder = FOLDER / "seeds"
    folder.mkdir()
    if target == "profile":
        mail = HERE.parent / "data" / "c2c-mail.txt"
        (folder / "c2c").write_bytes(mail.read_bytes()[:6000])
    if target == "archive":
        (folder / "archive").write_bytes(HOST.read_bytes())
        (folder / "packed").write_bytes(gzip.compress(HOST.read_bytes()))
        for name, text in WHOLE.items():
            (folder / name).write_text(f"@{name}\n{text}", encoding="utf-8")
    return folder


def whole(data: bytes) -> dict[str, str]:
    """Return the lists of the invented host, each replaced by the input's if that contains it."""
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
    """Read a tree of cgroups, and judge it."""
    judged(judge("host", read_facts(whole(data), "host"), []))


TARGETS: dict[str, Callable[[bytes], None]] = {
    "archive": archive, "profile": profile, "cgroups": cgroups,
}  # fmt: skip


def main() -> None:
    """Fuzz the target that the first argument names."""
    name = sys.argv.pop(1)
    target = TARGETS[name]
    sys.argv += [str(made_seeds(name)), *map(str, HERE.glob(name))]

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
