# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --exact: each run reads the same standard input and the files that show its machine."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from running import COMPILERS, MACHINE, NEEDED, compiled

pytestmark = NEEDED

# It adds up the bytes that two threads read, or with an argument reads none.
READS = r"""
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static _Alignas(64) struct { long bytes, more; } sum;
static void *reads(void *arg)
{
	char part[64];
	ssize_t n;

	while ((n = read(0, part, sizeof(part))) > 0)
		__atomic_fetch_add((long *)arg, n, __ATOMIC_RELAXED);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t one, other;

	if (argc > 1)
		return puts("no input") < 0;
	pthread_create(&one, NULL, reads, &sum.bytes);
	pthread_create(&other, NULL, reads, &sum.more);
	pthread_join(one, NULL);
	pthread_join(other, NULL);
	printf("%ld bytes\n", sum.bytes + sum.more);
	return 0;
}
"""
OPENS = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char text[64] = "";

	for (int i = 1; i < argc; i++) {
		int file = open(argv[i], O_RDONLY);

		printf("%zd %s", read(file, text, 60), text);
		close(file);
	}
	return 0;
}
"""


def program(folder: Path, text: str) -> Path:
    source = folder / "p.c"
    source.write_text(text, encoding="utf-8")
    return compiled(folder / "p", COMPILERS[0], str(source))


def command(made: Path, *words: str) -> list[str]:
    verb = ["record", "--exact", "--machine", MACHINE, "--cpus", "4", "--seeds", "2"]
    return [sys.executable, "-m", "cli", *verb, "--", str(made), *words]


@pytest.mark.parametrize("input_from", ["file", "pipe", "middle"])
def test_every_run_reads_the_same(tmp_path: Path, input_from: str) -> None:
    made, given = program(tmp_path, READS), tmp_path / "given"
    given.write_bytes(bytes(5000))
    with given.open("rb", buffering=0) as file:
        file.read(1000 if input_from == "middle" else 0)
        through: dict[str, Any] = {"stdin": file}
        if input_from == "pipe":
            through = {"input": given.read_bytes()}
        done = subprocess.run(command(made), capture_output=True, check=True, **through)
    assert done.stdout == (b"4000 bytes\n" if input_from == "middle" else b"5000 bytes\n")
    assert b"differently" not in done.stderr


def test_a_program_starts_before_its_input_ends(tmp_path: Path) -> None:
    """Regression: the command read an open pipe to its end first, and stored an endless one."""
    made = program(tmp_path, READS)
    with subprocess.Popen(
        command(made, "none"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as idle:
        assert idle.stdout is not None
        assert idle.stdout.read() == b"no input\n"
        assert idle.wait() == 0
    with subprocess.Popen(
        command(made), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as late:
        assert late.stdin is not None
        late.stdin.write(bytes(100))
        late.stdin.flush()
        time.sleep(1.5)
        out, _ = late.communicate(bytes(200))
    assert out == b"300 bytes\n"


def test_every_spelling_of_a_path_is_the_machines_file(tmp_path: Path) -> None:
    """Regression: for '//sys' the program got the host's file."""
    cpus = "/sys/devices/system/cpu/online"
    names = [cpus, f"/{cpus}", "/sys/./devices//system/node/../cpu/online", "/usr/.." + cpus]
    done = subprocess.run(
        command(program(tmp_path, OPENS), *names), capture_output=True, text=True, check=True
    )
    assert done.stdout == "4 0-3\n" * len(names)
