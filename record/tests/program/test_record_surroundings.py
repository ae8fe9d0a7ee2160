# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` works if a program has an unusual name, stream, folder or C library."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, built, needs

from common.paths import ROOT
from record.program.program import Program

pytestmark = needs(PROGRAMS / "record-known")

# The program writes to a file which standard streams are open, and shares a heap object.
PROGRAM = r"""
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "together.h"
static unsigned long *words;
static void *work(void *me)
{
	for (int i = 0; i < 200; i++)
		__atomic_fetch_add(&words[(long)me], 1, __ATOMIC_RELAXED);
	return NULL;
}
int main(int argc, char **argv)
{
	int open[3] = { read(0, NULL, 0) == 0, write(1, "", 0) == 0, write(2, "", 0) == 0 };
	FILE *out = fopen(argv[1], "a");

	words = calloc(2, sizeof(*words));
	together(2, work);
	fprintf(out, "%d%d%d\n", open[0], open[1], open[2]);
	fclose(out);
	return 7;
}
"""


# snprintf() stores vector registers on the handler's stack. Each handler is read back.
HANDLERS = r"""
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static volatile double two = 2;
static void say(int number, siginfo_t *info, void *context)
{
	char text[64];
	int size = snprintf(text, sizeof(text), "%d %.1f %d\n", number, two, info->si_signo);

	write(1, text, size);
}
static void plain(int number)
{
	say(number, &(siginfo_t){ .si_signo = number }, NULL);
}
int main(void)
{
	struct sigaction to = { .sa_sigaction = say, .sa_flags = SA_SIGINFO }, old;
	int right = signal(SIGUSR1, plain) == SIG_DFL && !sigaction(SIGUSR2, &to, &old);

	right = right && old.sa_handler == SIG_DFL && sigaction(SIGKILL, &to, NULL);
	raise(SIGUSR1);
	raise(SIGUSR2);
	right = right && !sigaction(SIGUSR1, NULL, &old) && old.sa_handler == plain;
	right = right && !sigaction(SIGUSR2, &old, &to) && to.sa_sigaction == say;
	raise(SIGUSR2);
	right = right && signal(SIGUSR2, SIG_IGN) == plain && signal(SIGUSR2, SIG_DFL) == SIG_IGN;
	return right ? 3 : 4;
}
"""


def compiled(folder: Path, name: str = "p", compiler: str = "gcc") -> Path:
    built(folder, f"{compiler} -g -O1 -pthread p.c -o {name}", PROGRAM)
    return folder / name


def record(folder: Path, words: str) -> subprocess.CompletedProcess[bytes]:
    """Record in a shell: ``words`` are the program's, with redirections."""
    own = [
        sys.executable, "-m", "cli", "record", "--machine", MACHINE,
        "--no-advice", "--uncertainty", "0", "--out", str(folder / "out.json"), "--",
    ]  # fmt: skip
    (folder / "here").mkdir(exist_ok=True)
    return subprocess.run(
        ["sh", "-c", f"{shlex.join(own)} {words}"], cwd=folder / "here", capture_output=True,
        check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip


def objects(folder: Path, words: str) -> list[str]:
    """Record the program, which must end with its own status; return the names of its objects."""
    done = record(folder, words)
    assert (done.returncode, done.stdout) == (7, b""), done.stderr
    report = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    return [line["object"] for line in report["variants"][0]["lines"]]


def test_closed_streams_stay_closed(tmp_path: Path) -> None:
    """Regression: without standard output an internal error replaced the program's status."""
    program, out = compiled(tmp_path), tmp_path / "out"
    for closed in ("<&- >&- 2>&-", ">&- </dev/null"):
        assert record(tmp_path, f"{program} {out} {closed}").returncode == 7
        assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["variants"]
    assert out.read_text(encoding="utf-8") == "000\n101\n"


def test_a_folder_that_was_removed(tmp_path: Path) -> None:
    program = compiled(tmp_path)
    words = f"-c 'rmdir ../here; exec {program} {tmp_path}/out'"
    for command in (f"/bin/sh {words}", f"{program} {tmp_path}/out; status=$?; exit $status"):
        done = record(tmp_path, command)
        assert done.returncode == 7, done.stderr


def test_a_program_whose_name_is_no_text(tmp_path: Path) -> None:
    """Regression: no report was written, and the program's status was lost."""
    program = os.fsencode(compiled(tmp_path).rename(tmp_path / os.fsdecode(b"p\xff q")))
    named = objects(tmp_path, shlex.quote(os.fsdecode(program)) + f" {tmp_path}/out")
    assert any(name.startswith("heap: main (p.c:") for name in named), named


def test_a_program_whose_name_begins_with_a_dash(tmp_path: Path) -> None:
    """Regression: the emulator took the name for one of its own options."""
    (tmp_path / "here").mkdir()
    compiled(tmp_path).rename(tmp_path / "here" / "-strace")
    assert objects(tmp_path, f"./-strace {tmp_path}/out")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the root folder")
def test_another_root_folder(tmp_path: Path) -> None:
    """Regression: after chroot() the recorder could neither write names nor read mappings."""
    text = PROGRAM.replace("FILE *out", "int moved = chroot(argv[2]);\n\tFILE *out")
    text = text.replace("return 7", "return moved ? 1 : 7")
    built(tmp_path, "gcc -g -O1 -pthread q.c -o q", text)
    named = objects(tmp_path, f"{tmp_path}/q /out {tmp_path}")
    assert (tmp_path / "out").is_file()
    assert any(name.startswith("heap: main (q.c:") for name in named), named


@pytest.mark.skipif(shutil.which("musl-gcc") is None, reason="needs musl-gcc")
def test_another_c_library_needs_no_backtrace(tmp_path: Path) -> None:
    """Regression: the program did not start. Places of allocations need no unwinder."""
    named = objects(tmp_path, f"{compiled(tmp_path, compiler='musl-gcc')} {tmp_path}/out")
    assert any(name.startswith("heap: main (p.c:") for name in named), named


def test_a_long_command_is_cut_in_a_report() -> None:
    def words(*arguments: str) -> str:
        return Program(Path("/bin/p"), ("p", *arguments), True, True).words

    assert words("a\nb", "c", "\x1b[31m") == r"p a b c \x1b[31m"
    assert len(words(*["x"] * 5000)) < 250
    assert words(*["x"] * 5000).endswith("... (5,000 arguments)")


def test_signal_handlers_have_an_aligned_stack(tmp_path: Path) -> None:
    (tmp_path / "h.c").write_text(HANDLERS, encoding="utf-8")
    subprocess.run(["gcc", "-O2", "h.c", "-o", "h"], check=True, cwd=tmp_path)
    record = [str(ROOT / "schedshard"), "record", "--machine", MACHINE, "--"]
    native, recorded = (
        subprocess.run([*before, str(tmp_path / "h")], capture_output=True, text=True, check=False)
        for before in ([], record)
    )
    assert (recorded.stdout, recorded.returncode) == (native.stdout, 3), recorded.stderr
    assert native.stdout == "10 2.0 10\n12 2.0 12\n12 2.0 12\n"
