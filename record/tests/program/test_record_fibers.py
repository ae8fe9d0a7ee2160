# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` works on stacks that a program makes for itself, each with just enough room."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from recording import PROGRAMS, built, needs, record_to

from common.paths import build_dir

pytestmark = needs(PROGRAMS / "record-known")

# Frames of one function differ in size: callers of the first ones lie beyond the last ones' stack.
FIBERS = r"""
#define _GNU_SOURCE
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#define PAGE 4096
static ucontext_t back, fiber;
static char *area;
static char *volatile kept; /* or there is no allocation */
static int made;
static void allocate(int bytes)
{
	volatile char *space = alloca(16 + bytes);
	char *at;

	space[0] = 1;
	kept = at = malloc(40);
	at[0] = 1;
	made += space[0] + at[0];
	free(at);
}
/* Another place that allocates: its callers are not known yet. */
static void also(int bytes)
{
	volatile char *space = alloca(16 + bytes);
	char *at = malloc(24);

	kept = at;
	at[0] = space[0] = 1;
	made += space[0] + at[0];
	free(at);
}
static void run(void (*call)(int), size_t size, int bytes)
{
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = area + 17 * PAGE - size;
	fiber.uc_stack.ss_size = size;
	fiber.uc_link = &back;
	makecontext(&fiber, (void (*)(void))call, 1, bytes);
	swapcontext(&back, &fiber);
}
int main(void)
{
	int more = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;

	/* Nothing can be read below and above. */
	area = mmap(NULL, 18 * PAGE, PROT_NONE, kind, -1, 0);
	mprotect(area + PAGE, 16 * PAGE, more);
	for (int i = 0; i < 20; i++)
		run(allocate, 16 * PAGE, 40 * (20 - i));
	/* The allocator alone needs less than 1 KiB. */
	mprotect(area + PAGE, 15 * PAGE, PROT_NONE);
	run(also, PAGE, 2100);
	printf("made %d\n", made);
	return 0;
}
"""


@pytest.mark.parametrize("options", ["-O0", "-O2 -fno-omit-frame-pointer", "-O2"])
def test_a_stack_of_the_program_may_end_at_a_guard(tmp_path: Path, options: str) -> None:
    """Regression: the search for callers read above the stack, and used 2 KiB of the stack."""
    built(tmp_path, f"gcc -g {options} p.c -o p", FIBERS)
    output, _ = record_to(tmp_path / "out.json", tmp_path / "p")
    assert output == "made 42\n"


def test_a_program_without_the_emulator_keeps_its_stacks_as_well(tmp_path: Path) -> None:
    """Children, which run outside of the emulator, have the library loaded too."""
    (tmp_path / "p.c").write_text(FIBERS, encoding="utf-8")
    subprocess.run(["gcc", "-g", "-O2", "p.c", "-o", "p"], check=True, cwd=tmp_path)
    library = build_dir() / "record" / "program" / "libschedshard-record.so"
    done = subprocess.run(
        [str(tmp_path / "p")], env={"LD_PRELOAD": str(library)}, capture_output=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"made 42\n")
