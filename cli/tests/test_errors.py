# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Every mistake of a user ends in one line and status 2, and leaves no half-written file."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from calling import call_apart
from common.errors import near_names
from common.paths import ROOT
from conftest import Cli, assert_user_error
from model.run.experiment import experiment_names


@pytest.mark.parametrize(
    ("name", "known", "near"),
    [
        ("strom", ["storm", "stress"], ["storm"]),
        ("shart", ["shard", "stock"], ["shard"]),
        ("lcc", ["llc", "node", "sbm"], ["llc"]),
        ("epyc-7763", ["epyc-7742-2s", "epyc-7763-2s"], ["epyc-7763-2s"]),
        ("cpumask", ["cpumask-yield", "pi"], ["cpumask-yield"]),
        ("c", [f"c{letter}xyz" for letter in "abcdef"], []),  # a list rather than a suggestion
        ("apple", ["maple", "ample"], ["ample"]),
        ("xy", ["ab", "pi"], []),  # both letters differ
        ("frequency", ["frequent", "sequence"], ["frequent"]),
        ("mutex", ["cyclic", "primitives"], []),
        ("", ["run"], []),
    ],
)
def test_what_is_near(name: str, known: list[str], near: list[str]) -> None:
    assert near_names(name, known) == near


@pytest.mark.parametrize(
    ("old", "now"), [("experiments", "run --list"), ("machines", "machine list")]
)
def test_old_names_work_with_one_line_of_warning(cli: Cli, old: str, now: str) -> None:
    new = cli(*now.split())
    result = cli(old)
    assert (result.status, result.out) == (new.status, new.out)
    assert result.err.count("\n") == new.err.count("\n") + 1
    assert f"'{now}' now" in result.err.replace("./schedshard ", "")


def test_experiments_are_listed(cli: Cli) -> None:
    rows = cli("run", "--list", "--json").json["experiments"]
    assert [row["name"] for row in rows] == experiment_names()
    entry = next(row for row in rows if row["name"] == "cpumask-yield")
    assert (entry["machine"], entry["variants"][0]) == ("epyc-7763-2s", "global")
    assert "Set and clear this CPU in a CPU mask" in cli("run", "--list").out


# Commands with wrong input, and words of the line on stderr.
WRONG = (ROOT / "cli/tests/data/wrong-input.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("row", WRONG, ids=lambda row: row.partition(" |")[0])
def test_wrong_input(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, row: str) -> None:
    """Each row: a command, and words of the line that refuses it. The host has two CPUs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("model.live.cpus.OWN_CGROUPS", tmp_path / "no-cgroup")
    args, *words = row.split(" | ")
    assert_user_error(cli(*shlex.split(args)), *words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("verb", "content", "words"),
    [
        ("machine", b"schema = \n", "is not TOML"),
        ("machine", b"\xff\xfe\x00", "is not TOML"),
        ("machine", b"a = %s%s\n" % (b"[" * 3000, b"]" * 3000), "nested too deeply"),
        ("record", b"", "is not complete JSON"),
        ("record", b'{"format": "schedshard/run/2", "exp', "is not complete JSON: line 1"),
        ("record", b'{"a": "\xff"}', "is not text"),
        ("record", b"[]", "is not a result"),
        ("record", b"{}", "is not a result"),
        ("record", b'{"format": "schedshard/validate/1"}', "is not a result"),
        ("report", b'{"format": "schedshard/kernel-count/1"}', "is not a result"),
        ("record", b'{"format": "schedshard/run/2"}', "is damaged: 'experiment' is missing"),
        ("record", b"[" * 100_000, "nested too deeply"),
    ],
    ids=range(12),
)
def test_a_file_that_cannot_be_read(
    cli: Cli, tmp_path: Path, verb: str, content: bytes, words: str
) -> None:
    path = tmp_path / "input.toml"
    path.write_bytes(content)
    args = (path, "--out", tmp_path / "page.html") if verb == "report" else ("show", path)
    assert_user_error(cli(verb, *args), "input.toml", words)
    assert list(tmp_path.iterdir()) == [path]


def test_unwritable_output_is_refused_before_the_work(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_SIM", "crash")  # would be seen if a simulation were started
    assert_user_error(
        cli("run", "cpumask-yield", "--out", tmp_path / "no" / "file.json"), "no directory"
    )
    assert_user_error(cli("run", "cpumask-yield", "--out", tmp_path), "is a directory")
    locked = tmp_path / "locked"
    locked.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != locked)
    assert_user_error(cli("run", "cpumask-yield", "--out", locked / "x.json"), "permission denied")


def test_failed_write_leaves_the_old_file(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    path.write_text("old")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    outcome = cli("run", "cpumask-yield", "--out", path, "--variant", "llc")
    assert_user_error(outcome, "cannot write", "no space left on device")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("mode", "status", "words"),
    [
        ("refuse", 2, ("latency_ns.llc must be positive",)),
        ("garbage", 1, ("schedshard-sim did not print complete JSON",)),
        ("crash", 1, ("schedshard-sim was ended by SIGABRT",)),
        ("empty", 1, ("printed no metrics for llc on 256 CPUs", "metrics")),
        ("silent", 1, ("failed with exit status 3 and said nothing",)),
        ("zero", 1, ("an operation took no time",)),
    ],
)
def test_tools_that_fail(
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    mode: str,
    status: int,
    words: tuple[str, ...],
) -> None:
    monkeypatch.setenv("FAKE_SIM", mode)
    out = tmp_path / "result.json"
    outcome = cli("run", "cpumask-yield", "--variant", "llc", "--out", out)
    assert_user_error(outcome, *words, status=status)
    assert not out.exists()


def test_missing_tools(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCHEDSHARD_BUILD", str(tmp_path))
    assert_user_error(cli("bench", "ping-pong"), "schedshard-topo is missing", "make build")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "schedshard-topo").write_text("")
    assert_user_error(cli("bench", "ping-pong"), "schedshard-topo is not executable")
    (tmp_path / "lib" / "schedshard-topo").chmod(0o755)
    (tmp_path / "lib" / "schedshard-topo").write_text("#!/bin/sh\necho '{}'\n")
    assert_user_error(cli("bench", "ping-pong"), "printed no topology", status=1)
    (tmp_path / "lib" / "schedshard-topo").write_bytes(b"\x7fELF")
    assert_user_error(cli("bench", "ping-pong"), "cannot run", status=1)


def test_a_defect_of_ours_is_one_line_too(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("model.machines.machine_list.list_machines", broken)
    outcome = cli("machine", "list")
    assert_user_error(outcome, "internal error", "two lines", "test_errors.py:", status=1)


@pytest.mark.parametrize(
    "args",
    [
        ("record", "show", "{}"),
        ("record", "replay", "{}", "--machine", "xeon-8358-2s"),
        ("record", "diff", "{}", "{}"),
        ("compare", "{}", "{}"),
        ("report", "{}", "--out", "x.html"),
        ("machine", "show", "{}"),
        ("machine", "import", "{}", "--name", "x"),
        ("run", "cpumask-yield", "--machine", "{}"),
        ("doctor", "{}"),
        ("doctor", "--perf", "{}"),
        ("record", "--machine", "{}", "--", "/bin/true"),
        ("record", "--machine", "xeon-8358-2s", "--", "{}"),
    ],
    ids=lambda value: " ".join(value),
)
@pytest.mark.parametrize("kind", ["fifo", "endless", "folder"])
def test_what_is_no_regular_file_is_refused_unread(
    tmp_path: Path, kind: str, args: tuple[str, ...]
) -> None:
    path = tmp_path / "input.toml"
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    done = call_apart(*(word.format(path) for word in args), timeout=60, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert str(path) in done.stderr
    assert "internal error" not in done.stderr


def test_a_name_that_is_too_long(cli: Cli, tmp_path: Path) -> None:
    for args in (("--machine", "a" * 300), ("--out", tmp_path / ("a" * 300))):
        assert_user_error(cli("run", "cpumask-yield", *args), "too long")
