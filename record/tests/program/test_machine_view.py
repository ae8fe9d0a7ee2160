# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A recorded program sees the machine of the file, by whichever way it asks."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from recording import PROGRAMS, built, needs, run

from common.paths import topo_binary
from model.machines.presets import load_machine, machine_topology
from record.program.machine_view import write_view

pytestmark = needs(PROGRAMS / "record-known")

# All that a program can ask; one line each.
ASKS = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAST "/sys/devices/system/cpu/cpu383/topology"
#define NONE "/sys/devices/system/cpu/cpu384/topology"

static int count(const char *path, const char *what)
{
	char line[4096];
	FILE *file = fopen(path, "r");
	int n = 0;

	while (file && fgets(line, sizeof(line), file))
		n += !strncmp(line, what, strlen(what));
	if (file)
		fclose(file);
	return n;
}

static void show(const char *path, const char *what)
{
	char line[4096];
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, what, strlen(what)))
			printf("%s", line);
	if (file)
		fclose(file);
}

static void *bound(void *arg)
{
	cpu_set_t set;
	unsigned int cpu, node;

	CPU_ZERO(&set);
	CPU_SET(100, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set) ||
		sched_getaffinity(0, sizeof(set), &set))
		return arg;
	getcpu(&cpu, &node);
	printf("bound %d %d %u %u\n", CPU_COUNT(&set), CPU_ISSET(100, &set), cpu, node);
	return NULL;
}

int main(void)
{
	pthread_t thread;
	struct statx file;
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	printf("allowed %d\n", CPU_COUNT(&set));
	/* Go's runtime asks the kernel, not the C library. */
	CPU_ZERO(&set);
	syscall(SYS_sched_getaffinity, 0, sizeof(set), &set);
	printf("kernel %d %ld\n", CPU_COUNT(&set), syscall(SYS_sched_getaffinity, 0, 8, &set));
	printf("sysconf %ld %ld\n", sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_NPROCESSORS_CONF));
	printf("cpuinfo %d\n", count("/proc/cpuinfo", "processor"));
	printf("stat %d\n", count("/proc/stat", "cpu") - 1);
	show("/sys/devices/system/cpu/online", "");
	show("/sys/devices/system/node/online", "");
	show("/sys/devices/system/cpu/cpu100/cache/index3/shared_cpu_list", "");
	show("/proc/self/status", "Cpus_allowed_list");
	show("/proc/self/status", "Mems_allowed_list");
	pthread_create(&thread, NULL, bound, NULL);
	pthread_join(thread, NULL);
	CPU_ZERO(&set);
	CPU_SET(1000, &set);
	printf("no such CPU %d\n", sched_setaffinity(0, sizeof(set), &set));
	printf("there %d %d %d\n", faccessat(AT_FDCWD, LAST, R_OK, 0),
		faccessat(-1, LAST, R_OK, AT_EACCESS), statx(-1, LAST, 0, STATX_SIZE, &file));
	printf("not there %d %d\n", faccessat(AT_FDCWD, NONE, R_OK, 0),
		statx(-1, NONE, 0, STATX_SIZE, &file));
	return 0;
}
"""

SEEN = """\
allowed 384
kernel 384 -1
sysconf 384 384
cpuinfo 384
stat 384
0-383
0-3
96-103,288-295
Cpus_allowed_list:\t0-383
Mems_allowed_list:\t0-3
bound 1 1 100 2
no such CPU -1
there 0 0 0
not there -1 -1
"""


@pytest.mark.parametrize("flags", [(), ("-static",)])
def test_a_program_sees_one_machine(tmp_path: Path, flags: tuple[str, ...]) -> None:
    program = built(tmp_path, f"cc -pthread {' '.join(flags)} asks.c -o asks", ASKS)
    options = ("--machine", "epyc-9654-2s", "--uncertainty", "0", "--no-advice")
    done = run("record", *options, "--", str(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout == SEEN


def test_a_program_with_four_cpus_sees_no_others(tmp_path: Path) -> None:
    program = built(tmp_path, "cc -pthread asks.c -o asks", ASKS)
    options = ("--machine", "epyc-9654-2s", "--uncertainty", "0", "--no-advice")
    done = run("record", *options, "--cpus", "4", "--placement", "scatter", "--", str(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:7] == [
        "allowed 4", "kernel 4 -1", "sysconf 4 4", "cpuinfo 4", "stat 4", "0,8,96,104", "0,2",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["epyc-9654-2s", "xeon-480-snc", "graviton4-2s"])
def test_the_files_describe_the_machine_file(tmp_path: Path, name: str) -> None:
    """The reader of /sys finds the caches, cores, nodes and packages of the machine file."""
    machine = load_machine(name)
    cpus = machine_topology(machine)["cpus"]
    view = write_view(tmp_path / "view", machine, [int(cpu["cpu"]) for cpu in cpus])
    command = [str(topo_binary()), "--sysfs", str(view)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    read = json.loads(done.stdout)["cpus"]
    assert len(read) == len(cpus)
    for key in ("package", "node", "llc", "l2", "core"):

        def groups(rows: list[dict[str, int]], key: str = key) -> set[frozenset[int]]:
            of: dict[int, set[int]] = {}
            for cpu in rows:
                of.setdefault(cpu[key], set()).add(cpu["cpu"])
            return {frozenset(members) for members in of.values()}

        assert groups(read) == groups(cpus), key


HWLOC = r"""
#include <hwloc.h>
#include <stdio.h>

int main(void)
{
	hwloc_topology_t found;

	if (hwloc_topology_init(&found) || hwloc_topology_load(found))
		return 1;
	printf("%d %d %d %d %d\n", hwloc_get_nbobjs_by_type(found, HWLOC_OBJ_PU),
		hwloc_get_nbobjs_by_type(found, HWLOC_OBJ_CORE),
		hwloc_get_nbobjs_by_type(found, HWLOC_OBJ_L3CACHE),
		hwloc_get_nbobjs_by_type(found, HWLOC_OBJ_NUMANODE),
		hwloc_get_nbobjs_by_type(found, HWLOC_OBJ_PACKAGE));
	return 0;
}
"""


@pytest.mark.parametrize(
    ("name", "options", "counts"),
    [
        ("epyc-9654-2s", (), "384 192 24 4 2"),
        ("xeon-8358-2s", (), "128 64 2 2 2"),
        ("graviton4-2s", (), "192 192 2 2 2"),
        ("epyc-9654-2s", ("--cpus", "4", "--placement", "scatter"), "4 4 4 2 2"),
    ],
)
def test_hwloc_sees_the_machine(
    tmp_path: Path, name: str, options: tuple[str, ...], counts: str
) -> None:
    program = built(tmp_path, "cc asks.c -o asks -lhwloc", HWLOC)
    fixed = ("--machine", name, "--uncertainty", "0", "--no-advice", *options)
    done = run("record", *fixed, "--", str(program))
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == counts.split()


def test_files_with_one_text_are_one_that_nobody_writes(tmp_path: Path) -> None:
    view = write_view(tmp_path / "view", load_machine("epyc-7763-2s"), range(128))
    cpus = view / "sys/devices/system/cpu"
    first, second = (cpus / f"cpu{number}/online" for number in (0, 1))
    assert first.read_text(encoding="ascii") == second.read_text(encoding="ascii") == "1\n"
    assert first.samefile(second)
    assert all(path.stat().st_mode & 0o222 == 0 for path in view.rglob("*") if path.is_file())
