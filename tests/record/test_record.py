# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""c2c record: programs with known sharing, programs that are hard to record, and refusals."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recording import MACHINE, PROGRAMS, Report, hitm, hitm_of, needs, quiet, run

from calling import call
from schedshard.c2c.program.program import debug_package_of, package_of
from schedshard.common.paths import ROOT

pytestmark = needs(PROGRAMS / "record-known")


def record(*arguments: str, machines: tuple[str, ...] = (MACHINE,)) -> Report:
    """The report of a program that ends well."""
    named = [word for machine in machines for word in ("--machine", machine)]
    done = run("record", *named, "--marks", "--json", "--uncertainty", "0", *arguments)
    assert done.returncode == 0, done.stderr
    report: Report = json.loads(done.stdout)
    return report


def known(
    case: str, threads: int, operations: int, think: int, holds: Callable[[Report], bool]
) -> Report:
    """A case's report without advice."""
    program = str(PROGRAMS / "record-known")
    words = ("--no-advice", "--", program, case, str(threads), str(operations), str(think))
    return quiet(lambda: record(*words), holds)


# Modified lines found elsewhere, an operation. The queue lock: its tail, the node when the next one
# in the queue links itself to it, the node again when its owner passes the lock on, and the
# counter. Readers enter and leave. A message: both indices and itself.
EXACT = [
    ("one", 6, 1000, 400, 6000, 1.0),
    ("side", 6, 1000, 400, 6000, 1.0),
    ("heap", 6, 1000, 400, 6000, 1.0),
    ("queue", 6, 400, 1000, 2400, 4.0),
    ("readers", 6, 500, 800, 3000, 2.0),
    ("ring", 2, 1000, 0, 1000, 3.0),
]


def test_messages_in_one_line_move_it_at_most_once_for_each_side() -> None:
    """Some transfers are not seen, and how many is the host's doing: see docs/record.md."""

    def holds(report: Report) -> bool:
        assert hitm(report) < 2.1 * 1000
        return hitm(report) > 0.5 * 1000

    known("packed", 2, 1000, 0, holds)


@pytest.mark.parametrize(("case", "threads", "each", "think", "operations", "expected"), EXACT)
def test_exact_cases(
    case: str, threads: int, each: int, think: int, operations: int, expected: float
) -> None:
    def holds(report: Report) -> bool:
        assert not report["partial"]
        assert report["program"]["threads"] == threads + 1
        return bool(hitm(report) / operations == pytest.approx(expected, rel=0.05))

    known(case, threads, each, think, holds)


# Operations 50,000 instructions apart: threads that work alone are let further ahead meanwhile.
SELDOM = [("store", {"one": 1}), ("one", {"one": 1}), ("meet", {"tail": 1, "protected": 1})]


@pytest.mark.parametrize(("case", "expected"), SELDOM)
def test_threads_that_seldom_meet_are_found_where_they_do(
    case: str, expected: dict[str, int]
) -> None:
    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"]
        shown = [line for line in lines if line["object"] in expected]
        found = {line["object"]: hitm_of(line) / 240 for line in shown}
        return bool(found == pytest.approx(expected, rel=0.05))

    known(case, 6, 40, 17000, holds)


def test_lines_apart_are_not_contended() -> None:
    words = ("--", str(PROGRAMS / "record-known"), "apart", "6", "1000", "400")
    report = quiet(lambda: record(*words), lambda report: hitm(report) / 6000 < 0.02)
    assert report["advice"] == []


def hottest(report: Report) -> dict[str, Any]:
    line: dict[str, Any] = report["variants"][0]["lines"][0]
    return line


def contended(times: int) -> Callable[[Report], bool]:
    """Tell whether nearly each operation finds its line modified."""
    return lambda report: hitm(report) > 0.9 * times


def test_a_counter_of_all_is_true_sharing() -> None:
    line = hottest(known("one", 4, 1000, 400, contended(4000)))
    assert (line["object"], line["sharing"], line["type"]) == ("one", "true", "struct alone")
    assert line["accesses"][0]["field"] == "one.worker.count"
    assert line["accesses"][0]["source"].startswith("tests/record/known.c:")
    assert "add" in line["accesses"][0]["symbol"]
    assert line["accesses"][0]["threads"] == [1, 2, 3, 4]


def test_counters_side_by_side_are_false_sharing_and_padding_ends_it() -> None:
    words = ("--", str(PROGRAMS / "record-known"), "side", "4", "1000", "400")
    report = quiet(lambda: record(*words), contended(4000))
    line = hottest(report)
    assert (line["object"], line["sharing"], line["type"]) == ("side", "false", "struct worker[]")
    assert {access["field"] for access in line["accesses"] if access["kind"] == "rmw"} == {
        f"side[{index}].count" for index in range(4)
    }
    assert [len(a["threads"]) for a in line["accesses"] if a["kind"] == "rmw"] == [1] * 4
    # What padding gains is what lines apart cost less.
    gain = report["advice"][0]["machines"][MACHINE]
    assert "`struct worker`" in report["advice"][0]["words"]
    assert gain["hitm_after"] < gain["hitm_before"] / 50

    def costs_as_much(apart: Report) -> bool:
        cycles = apart["variants"][0]["work_cycles"]
        return bool(gain["cycles_after"] == pytest.approx(cycles, rel=0.1))

    known("apart", 4, 1000, 400, costs_as_much)


def test_heap_objects_are_named_by_the_place_that_allocated_them() -> None:
    line = hottest(known("heap", 4, 1000, 400, contended(4000)))
    assert line["kind"] == "heap"
    assert line["object"].startswith("heap: main (tests/record/known.c:")
    assert line["allocated"][0]["function"] == "main"
    assert line["sharing"] == "false"


# Compare-and-swap loops are left out: see docs/record.md.
@pytest.mark.parametrize("operation", ["refcount", "rwlock-read", "list-refcount", "spinlock"])
def test_loops_agree_with_the_experiment(operation: str) -> None:
    threads, times = 8, 100 if operation.startswith("list") else 1000
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schedshard", "run", "primitives", "--machine", MACHINE),
            *("--op", operation, "--threads", str(threads), "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "cli")},
    )
    point = json.loads(done.stdout)["variants"][0]["points"][0]
    simulated = sum(line["hitm_remote"] + line["hitm_local"] for line in point["lines"])
    simulated /= point["metrics"]["ops"]
    words = ("--no-advice", "--", str(PROGRAMS / "record-loops"), operation)

    def holds(report: Report) -> bool:
        lines = report["variants"][0]["lines"]
        hot = sum(hitm_of(line) for line in lines if line["hitm_share"] > 0.02)
        return bool(hot / (threads * times) == pytest.approx(simulated, rel=0.2))

    quiet(lambda: record(*words, str(threads), str(times)), holds)


def check_stacks(text: str, waited: list[Any]) -> None:
    """Machine, functions, source line and object; the cycles that the report has."""
    first = text.splitlines()[0]
    frames, _, cycles = first.rpartition(" ")
    machine, *functions, source, thing = frames.split(";")
    assert (machine, functions[-1], thing) == (MACHINE, "add", "side")
    assert source.startswith("tests/record/known.c:")
    assert [[*functions, source, thing], int(cycles)] == waited[0]
    assert {line.split(";")[0] for line in text.splitlines()} == {MACHINE, "xeon-480"}


def check_intervals(report: Report) -> None:
    """Of cycles a load, of all cycles, and of what advice gains."""
    assert report["uncertainty"]["samples"] == 20
    for variant in report["variants"]:
        line = variant["lines"][0]
        assert line["interval"]["samples"] == 20
        assert line["interval"]["low"] < line["interval"]["high"]
        assert line["interval"]["low"] * 0.8 < line["avg_load_cycles"]
        assert line["avg_load_cycles"] < line["interval"]["high"] * 1.2
        work = variant["interval"]["work_cycles"]
        assert work["low"] <= work["median"] <= work["high"]
        gain = report["advice"][0]["machines"][variant["name"]]
        assert 0 < gain["interval"]["low"] <= gain["interval"]["high"] < 1
        assert gain["interval"]["low"] * 0.8 < gain["fewer"] < gain["interval"]["high"] * 1.2


def test_a_trace_is_replayed_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    trace, saved = tmp_path / "trace", tmp_path / "a.json"
    program = [str(PROGRAMS / "record-known"), "side", "4", "500", "400"]
    done = run(
        "record", "--machine", MACHINE, "--cpus", "64", "--placement", "scatter", "--marks",
        "--trace", str(trace), "--out", str(saved), "--html", str(tmp_path / "page.html"), "--",
        *program,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "side: right\n"
    assert "side" in (tmp_path / "page.html").read_text(encoding="utf-8")
    first = json.loads(saved.read_text(encoding="utf-8"))
    # Far apart: half of the four are in the other socket.
    assert first["variants"][0]["hitm_remote"] > 0
    stacks = tmp_path / "stacks"
    again = run(
        "replay", str(trace), "--machine", MACHINE, "--machine", "xeon-480", "--json",
        "--flamegraph", str(stacks),
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    replayed = json.loads(again.stdout)
    assert [variant["name"] for variant in replayed["variants"]] == [MACHINE, "xeon-480"]
    waited = replayed["variants"][0].pop("stacks")
    assert replayed["variants"][0] == first["variants"][0]
    check_stacks(stacks.read_text(encoding="utf-8"), waited)
    check_intervals(replayed)
    other = tmp_path / "b.json"
    other.write_text(again.stdout, encoding="utf-8")
    compared = json.loads(run("diff", str(saved), str(other), "--json").stdout)
    assert compared["machines"][0]["hitm"]["a"] == compared["machines"][0]["hitm"]["b"]
    too = call(capsys, "compare", saved, other, "--json")
    assert (too.status, too.json) == (0, compared)
    refused = call(capsys, "compare", saved, other, "--metric", "x")
    assert refused.status == 2
    assert "--metric: recordings of programs are compared by object" in refused.err
    shown = run(str(saved))
    assert shown.returncode == 0
    assert "Contended lines" in shown.stdout
    trace.write_bytes(trace.read_bytes()[:2000])
    cut = run("replay", str(trace), "--machine", MACHINE, "--json", "--no-advice")
    assert cut.returncode == 0
    assert json.loads(cut.stdout)["partial"]


# Waits of threads, which the emulator must not block.
HARD = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

static atomic_int turn, ticks, seen;
static int events;
static pthread_barrier_t barrier;

static void *spin(void *me)
{
	for (int k = 0; k < 100; k++) {
		while (atomic_load(&turn) % 4 != (long)me)
			;
		atomic_fetch_add(&turn, 1);
	}
	for (int k = 0; k < 50; k++)
		pthread_barrier_wait(&barrier);
	return NULL;
}

static void *wait_for_events(void *none)
{
	struct epoll_event event;
	unsigned long value;

	for (int n = 0; n < 20;)
		if (epoll_wait(events, &event, 1, 1000) == 1 && read(event.data.fd, &value, 8) == 8)
			n += (int)value;
	atomic_store(&seen, 1);
	return NULL;
}

static void *yield(void *none)
{
	while (!atomic_load(&seen))
		sched_yield();
	return NULL;
}

static void tick(int number)
{
	atomic_fetch_add(&ticks, 1);
}

int main(int argc, char **argv)
{
	struct itimerspec each = { { 0, 1000000 }, { 0, 1000000 } };
	struct itimerval alarm = { { 0, 2000 }, { 0, 2000 } };
	struct epoll_event event = { .events = EPOLLIN };
	struct sigaction action = { .sa_handler = tick };
	char line[64];
	pthread_t t[4];
	int status;

	pthread_barrier_init(&barrier, NULL, 4);
	for (long i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, spin, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	events = epoll_create1(0);
	event.data.fd = timerfd_create(CLOCK_MONOTONIC, 0);
	epoll_ctl(events, EPOLL_CTL_ADD, event.data.fd, &event);
	timerfd_settime(event.data.fd, 0, &each, NULL);
	pthread_create(&t[0], NULL, wait_for_events, NULL);
	pthread_create(&t[1], NULL, yield, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &alarm, NULL);
	while (atomic_load(&ticks) < 5)
		;
	memset(&alarm, 0, sizeof(alarm));
	setitimer(ITIMER_REAL, &alarm, NULL);
	printf("turns %d\n", turn);
	fflush(stdout);
	if (!fork()) {
		execl("/bin/echo", "echo", "executed", NULL);
		_exit(1);
	}
	wait(&status);
	printf("child %d\n", WEXITSTATUS(status));
	while (fgets(line, sizeof(line), stdin))
		printf("read %s", line);
	for (int i = 1; i < argc; i++)
		printf("argument '%s'\n", argv[i]);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "abort"))
		abort();
	return 42;
}
"""


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hard")
    source, program = folder / "hard.c", folder / "hard"
    source.write_text(HARD, encoding="utf-8")
    subprocess.run(["cc", "-O1", "-pthread", str(source), "-o", str(program)], check=True)
    return program


def test_a_program_does_what_it_does_without_us(hard: Path) -> None:
    alone = subprocess.run(
        [str(hard), "a b", ""], input="x\ny\n", capture_output=True, text=True, check=False
    )
    # Fewer CPUs than threads: they share them.
    for cpus in ("64", "2"):
        done = run(
            "record", "--machine", MACHINE, "--cpus", cpus, "--no-advice", "--", str(hard), "a b",
            "", stdin="x\ny\n",
        )  # fmt: skip
        assert done.stdout == alone.stdout
        assert done.returncode == alone.returncode == 42
        assert "far HITM" in done.stderr


def test_a_crash_is_the_programs_and_what_was_seen_is_kept(hard: Path) -> None:
    done = run("record", "--machine", MACHINE, "--no-advice", "--", str(hard), "abort")
    assert done.returncode == 128 + signal.SIGABRT
    assert "the program was ended by SIGABRT" in done.stderr
    assert "turn" in done.stderr


def test_affinity_is_honoured(tmp_path: Path) -> None:
    source, program = tmp_path / "bound.c", tmp_path / "bound"
    source.write_text(
        r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
static unsigned long count;
static void *work(void *arg)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)(long)arg, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		return NULL;
	for (int i = 0; i < 20000; i++)
		__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	return NULL;
}
int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, work, (void *)3);
	pthread_create(&b, NULL, work, (void *)100);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}
""",
        encoding="utf-8",
    )
    subprocess.run(["cc", "-g", "-O1", "-pthread", str(source), "-o", str(program)], check=True)
    out = tmp_path / "out.json"
    done = run("record", "--machine", MACHINE, "--out", str(out), "--", str(program))
    assert done.stdout == "256\n"
    line = json.loads(out.read_text(encoding="utf-8"))["variants"][0]["lines"][0]
    assert line["object"] == "count"
    # CPU 100 is in the other socket.
    assert line["accesses"][0]["on_cpus"] == [3, 100]
    assert line["hitm_remote"] > 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--machine", MACHINE, "--"), "no program: './schedshard c2c record"),
        (("--machine", MACHINE, "--", "no-such-program"), "no program 'no-such-program'"),
        (("--machine", MACHINE, "--", "./nowhere"), "no program ./nowhere"),
        (("--machine", "epyc-7763", "--", "true"), "did you mean 'epyc-7763-2s'"),
        (("--machine", MACHINE, "--cpus", "257", "--", "true"), "--cpus 257: epyc-7763-2s has 256"),
        (
            ("--machine", MACHINE, "--marks", "--after", "1", "--", "true"),
            "leave --after and --for",
        ),
        (("--machine", MACHINE, "--out", "/nowhere/x", "--", "true"), "no directory /nowhere"),
        (
            ("--machine", MACHINE, "--flamegraph", "/nowhere/x", "--", "true"),
            "no directory /nowhere",
        ),
        (("--machine", MACHINE, "--uncertainty", "5", "--", "true"), "needs 20 to 10,000 samples"),
    ],
)
def test_refusals(arguments: tuple[str, ...], words: str) -> None:
    done = run("record", *arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert done.stdout == ""


def test_files_that_are_no_programs_are_refused(tmp_path: Path) -> None:
    script, text, foreign = tmp_path / "script", tmp_path / "text", tmp_path / "foreign"
    cut, far = tmp_path / "cut", tmp_path / "far"
    script.write_text("#!/bin/sh\nexit 0\n", encoding="ascii")
    text.write_text("nothing\n", encoding="ascii")
    elf = bytearray((PROGRAMS / "record-known").read_bytes())
    cut.write_bytes(elf[:100])
    far.write_bytes(elf[:40] + b"\xff" * 8 + elf[48:])  # the section headers
    elf[18] = 183  # EM_AARCH64
    foreign.write_bytes(bytes(elf))
    for path, words in (
        (script, "is a script: record what it starts, or '/bin/sh "),
        (text, "is not an x86-64 ELF program: it is no ELF file at all"),
        (foreign, "is not an x86-64 ELF program: it is for AArch64"),
        (cut, "is not an x86-64 ELF program: its headers are cut short or damaged"),
        (far, "is not an x86-64 ELF program: its headers are cut short or damaged"),
    ):
        path.chmod(0o755)
        done = run("record", "--machine", MACHINE, "--", str(path))
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert words in done.stderr


def test_a_missing_emulator_is_named_with_its_package() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schedshard", "c2c", "record", "--machine", MACHINE),
            *("--", "/bin/true"),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={
            "PATH": "/nonexistent",
            "PYTHONPATH": str(ROOT / "cli"),
            **{name: os.environ[name] for name in ("SCHEDSHARD_BUILD",) if name in os.environ},
        },
    )
    assert done.returncode == 2
    assert done.stderr == "schedshard: qemu-x86_64 is missing: install the package qemu-user\n"


def test_a_static_program_works_and_says_what_is_missing(tmp_path: Path) -> None:
    program = tmp_path / "static"
    source = ROOT / "tests" / "record" / "known.c"
    include = ROOT / "kernel" / "guest"
    subprocess.run(
        ["cc", "-static", "-s", "-O2", "-pthread", f"-I{include}", str(source), "-o", program],
        check=True,
    )
    report = quiet(
        lambda: record("--no-advice", "--", str(program), "one", "4", "500", "400"),
        lambda report: bool(hitm(report) / 2000 == pytest.approx(1.0, rel=0.05)),
    )
    assert any("the program is static" in note for note in report["notes"])
    assert any("addresses only" in note for note in report["notes"])


@pytest.mark.skipif(shutil.which("dpkg-query") is None, reason="asks Debian's packages")
def test_a_file_without_debug_information_says_which_package_has_it(tmp_path: Path) -> None:
    wanted = {"coreutils": "coreutils-dbgsym (Debian's archive debian-debug)", "libc6": "libc6-dbg"}
    for file in ("/bin/ls", "/lib/x86_64-linux-gnu/libc.so.6"):
        package = package_of(Path(file))
        if package not in wanted:
            pytest.skip(f"{file} is not of the package that Debian has it in, but of {package}")
        assert debug_package_of(Path(file)) == wanted[package]
    assert debug_package_of(tmp_path / "mine") is None
