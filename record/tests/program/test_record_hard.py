# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` records programs that are hard to record, and says which parts are missing."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, built, hitm, needs, quiet, record, run

from common.paths import ROOT
from record.program.program import debug_package_of, package_of

pytestmark = needs(PROGRAMS / "record-known")


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
    return built(tmp_path_factory.mktemp("hard"), "cc -O1 -pthread hard.c -o hard", HARD)


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
    assert "SIGABRT ended the program" in done.stderr
    assert "turn" in done.stderr


def test_affinity_is_honoured(tmp_path: Path) -> None:
    text = r"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <unistd.h>
#include "together.h"
static unsigned long count;
/* Each adds when it is its turn: they alternate, however busy the host is. */
static void *work(void *me)
{
	int cpu = me ? 100 : 3;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		return NULL;
	for (int i = 0; i < 300; i++) {
		while (__atomic_load_n(&count, __ATOMIC_RELAXED) % 2 != (cpu == 100))
			sched_yield();
		__atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}
int main(void)
{
	together(2, work);
	printf("%ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	return 0;
}
"""
    program = built(tmp_path, "cc -g -O1 -pthread bound.c -o bound", text)
    out = tmp_path / "out.json"
    done = run("record", "--machine", MACHINE, "--out", str(out), "--", str(program))
    assert done.stdout == "256\n"
    line = json.loads(out.read_text(encoding="utf-8"))["variants"][0]["lines"][0]
    assert line["object"] == "count"
    # CPU 100 is in the other socket.
    assert line["accesses"][0]["on_cpus"] == [3, 100]
    assert line["hitm_remote"] > 0


def test_a_static_program_works_and_says_what_is_missing(tmp_path: Path) -> None:
    program = tmp_path / "static"
    source = ROOT / "record" / "tests" / "program" / "known.c"
    include = ROOT / "kernel" / "guest"
    subprocess.run(
        ["cc", "-static", "-s", "-O2", "-pthread", f"-I{include}", str(source), "-o", program],
        check=True,
    )
    report = quiet(
        lambda: record("--no-advice", "--", str(program), "one", "4", "500", "400"),
        lambda report: bool(hitm(report) / 2000 == pytest.approx(1.0, rel=0.05)),
    )
    assert any("the program is linked statically" in note for note in report["notes"])
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
