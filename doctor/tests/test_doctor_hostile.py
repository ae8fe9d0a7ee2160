# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Archives that expand or claim too much end in one line and status 2, in bounded memory.

Each archive is judged by a separate process, to which the kernel gives at most 256 MB.
"""

from __future__ import annotations

import gzip
import os
import random
import resource
import subprocess
import sys
import tarfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from doctor.facts.values import cpu_list, merged
from doctor_tree import Machine, Task, listed, packed

MEMORY = 256 << 20
CLI = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def lists() -> dict[str, bytes]:
    """The lists of a small host."""
    made = listed(Machine(cpus=8, tasks=[Task(50, "worker")]))
    return {name: text.encode() for name, text in made.items()}


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


def doctor(path: Path, *options: str) -> tuple[int, str, str]:
    """Judge an archive in a process whose memory is limited."""
    done = subprocess.run(
        [sys.executable, "-m", "cli", "doctor", str(path), *options],
        capture_output=True, text=True, preexec_fn=limited,
        env={**os.environ, "PYTHONPATH": str(CLI)},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


def refused(tmp_path: Path, data: bytes, *words: str) -> None:
    path = tmp_path / "host.tar"
    path.write_bytes(data)
    status, out, err = doctor(path)
    assert (status, out) == (2, ""), err
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert len(err) < 600
    for word in words:
        assert word in err


def sparse(kind: str, directory: Path, lists: dict[str, bytes]) -> bytes:
    """A tar file with a member of 1 TB that is one hole."""
    inside = directory / "schedshard-doctor"
    inside.mkdir()
    for name, data in lists.items():
        (inside / name).write_bytes(data)
    (inside / "threads").unlink()
    with (inside / "threads").open("wb") as file:
        file.truncate(1 << 40)
    form = ["--format=gnu"] if kind == "gnu" else ["--format=posix", f"--sparse-version={kind}"]
    done = subprocess.run(
        ["tar", "-cf", "-", "-S", *form, "-C", str(directory), "schedshard-doctor"],
        capture_output=True,
    )
    if done.returncode != 0:
        pytest.skip("this file system or tar has no sparse files")
    return done.stdout


@pytest.mark.parametrize("kind", ["gnu", "0.0", "0.1", "1.0"])
def test_members_with_holes(tmp_path: Path, lists: dict[str, bytes], kind: str) -> None:
    refused(tmp_path, sparse(kind, tmp_path, lists), "host.tar")


@pytest.mark.long
def test_bombs(tmp_path: Path, lists: dict[str, bytes]) -> None:
    refused(tmp_path, gzip.compress(bytes(300 << 20), 1), "unpacks to more than 48 MiB")
    status, out, err = doctor(tmp_path / "host.tar", "--batch", "nagios")
    assert (status, err) == (3, "")
    assert out.startswith("SCHEDSHARD UNKNOWN - ")
    assert out.count("\n") == 1
    refused(tmp_path, packed({**lists, "threads": bytes(21 << 20)}), "more than 20 MiB")
    blank = packed({**lists, "settings": b"\n" * (20 << 20)})
    refused(tmp_path, gzip.compress(blank, 1), "settings: more than")
    long_line = packed({**lists, "cgroups": b"a" * (20 << 20)})
    refused(tmp_path, gzip.compress(long_line, 1), "a line of more than 128 KiB")
    wide = packed({**lists, "threads": "\U0001f600\n".encode() * (4 << 20)})
    refused(tmp_path, gzip.compress(wide, 1), "threads:1 does not describe a thread")


def test_headers_that_claim_much(tmp_path: Path, lists: dict[str, bytes]) -> None:
    def many(tar: tarfile.TarFile) -> None:
        for _ in range(20_000):
            info = tarfile.TarInfo("schedshard-doctor")
            info.type = tarfile.DIRTYPE
            tar.addfile(info)

    refused(tmp_path, gzip.compress(packed({}, many), 1), "more than 64 members")

    def deep(tar: tarfile.TarFile) -> None:
        tar.addfile(tarfile.TarInfo("schedshard-doctor/" + "a/" * 100_000))

    refused(tmp_path, packed(lists, deep), "host.tar")

    def long(tar: tarfile.TarFile) -> None:
        tar.addfile(tarfile.TarInfo("b" * (30 << 20)))

    refused(tmp_path, gzip.compress(packed(lists, long), 1), "host.tar")


def hungry(count: int, cpus: int) -> bytes:
    """Lists of CPUs, no two alike."""
    return b"".join(
        b"sys/devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list:%d-%d\n"
        % (cpu, index, index, cpus - 1 - cpu)
        for cpu in range(count) for index in range(16)
    )  # fmt: skip


def test_lists_of_cpus_that_expand(tmp_path: Path, lists: dict[str, bytes]) -> None:
    refused(
        tmp_path, packed({**lists, "cpus": lists["cpus"] + hungry(4000, 8192)}),
        "more than 1,000,000 CPUs in all",
    )  # fmt: skip
    again = b"sys/devices/system/cpu/isolated:" + b",".join([b"0-8191"] * 9000) + b"\n"
    refused(tmp_path, packed({**lists, "cpus": lists["cpus"] + again}), "the same CPUs many times")
    with pytest.raises(ValueError, match="below 8192"):
        cpu_list("0-8192")
    # Digits to int() and to most patterns.
    with pytest.raises(ValueError, match="not a list of CPUs"):
        cpu_list("\N{ARABIC-INDIC DIGIT ZERO}-\N{ARABIC-INDIC DIGIT NINE}")


def test_an_archive_at_the_limits_is_read(tmp_path: Path, lists: dict[str, bytes]) -> None:
    """Forty thousand threads with names of three bytes a character, all of which are judged."""
    rows: list[str] = []
    first: list[str] = []
    second: list[str] = []
    places: list[str] = []
    for tid in range(1000, 41_000):
        rows.append(f"{tid} {tid} 1 50 4194304 {tid % 8} \u20ac{tid}\n")
        for held, slept in ((first, 1), (second, 5)):
            held.append(f"{tid}/task/{tid}/status:voluntary_ctxt_switches:\t{slept}\n")
            held.append(f"{tid}/task/{tid}/status:nonvoluntary_ctxt_switches:\t1\n")
        places.append(f"{tid}/task/{tid}/status:Cpus_allowed_list:\t{tid % 8}\n")
        places.append(f"{tid}/task/{tid}/cgroup:0::/app{tid}.service\n")
    more = {"threads": rows, "reading-1": first, "reading-2": second, "places": places}
    full = {name: lists[name] + "".join(text).encode() for name, text in more.items()}
    path = tmp_path / "host.tar"
    path.write_bytes(gzip.compress(packed({**lists, **full}), 1))
    status, out, err = doctor(path)
    assert status in (0, 3, 4), err
    assert "Traceback" not in err
    assert "40001 real-time" in " ".join(out.split())


def lines_executed(work: Callable[[], Any]) -> int:
    """Count the lines of Python that a call executes."""
    count = 0

    def local(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return local

    before = sys.gettrace()
    sys.settrace(lambda _frame, _event, _argument: local)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("shape", ["apart", "chain", "random"])
def test_merging_takes_no_more_than_n_log_n(shape: str) -> None:
    rng = random.Random(5)

    def masks(count: int) -> dict[frozenset[int], list[int]]:
        made: dict[frozenset[int], list[int]] = {}
        for number in range(count):
            if shape == "apart":
                cpus = range(4 * number, 4 * number + 4)
            elif shape == "chain":
                cpus = range(3 * number, 3 * number + 4)
            else:
                cpus = range(start := rng.randrange(3 * count), start + 4)
            made.setdefault(frozenset(cpus), []).append(number)
        return made

    small, large = (lines_executed(partial(merged, masks(count))) for count in (1000, 2000))
    assert large < 2.3 * small


def test_merging_is_the_same_as_one_by_one() -> None:
    rng = random.Random(7)
    for _ in range(200):
        masks = {
            frozenset(rng.sample(range(40), rng.randint(1, 4))): [number] for number in range(12)
        }
        naive: list[tuple[frozenset[int], set[int]]] = []
        for mask, held in masks.items():
            cpus, members, apart = mask, set(held), []
            for other, names in naive:
                if other & cpus:
                    cpus, members = cpus | other, members | names
                else:
                    apart.append((other, names))
            naive = [*apart, (cpus, members)]
        merged_sets = {cpus: set(members) for cpus, members in merged(masks)}
        assert merged_sets == dict(naive)
