# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""record --follow records several processes, whether or not they share memory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from recording import MACHINE, PROGRAMS, compiled, hitm_of, hottest, needs, quiet, run

FAMILY = PROGRAMS / "record-family"

pytestmark = needs(FAMILY)


def follow(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    options = ("--machine", MACHINE, "--uncertainty", "0", "--no-advice")
    return run("record", "--follow", *options, *arguments, stdin=stdin)


def family(
    folder: Path, case: str, processes: int, operations: int, *options: str
) -> dict[str, Any]:
    file = folder / "file"
    file.unlink(missing_ok=True)
    done = follow(
        *options, "--marks", "--json", "--", str(FAMILY), case, str(processes), str(operations),
        "400", str(file),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert case == "daemon" or f"{case}: right" in done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert not report["partial"]
    assert report["program"]["processes"] == processes + 1
    return report


def test_a_note_says_that_the_program_became_another_one() -> None:
    """Regression: the recording contained only env, and no note said so."""
    words = ("record", "--machine", MACHINE, "--uncertainty", "0", "--no-advice", "--")
    note = "note: the program executed another program, which only --follow records\n"
    done = run(*words, "env", "A=1", "echo", "said")
    assert (done.returncode, done.stdout) == (0, "said\n")
    assert note in done.stderr
    for more in (("env",), ("env", "no-such-program")):
        assert note not in run(*words, *more).stderr
    assert note not in follow("--", "env", "A=1", "true").stderr


def test_the_note_is_there_for_all_calls_that_execute(tmp_path: Path) -> None:
    """Also for execveat(), which not every emulator has; fexecve() makes one of these calls."""
    text = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	char *words[] = { "echo", "said", NULL }, *none[] = { NULL };
	int at = strcmp(argv[1], "folder") ? open("/bin/echo", O_RDONLY) : open("/bin", O_PATH);

	if (!strcmp(argv[1], "fexecve"))
		return fexecve(at, words, none);
	return (int)syscall(SYS_execveat, at, argc > 2 ? argv[2] : "", words, none, AT_EMPTY_PATH);
}
"""
    program = compiled(tmp_path, "executes", text)
    words = ("record", "--machine", MACHINE, "--uncertainty", "0", "--no-advice", "--")
    for how in (("fexecve",), ("file",), ("folder", "echo")):
        done = run(*words, str(program), *how)
        executed = done.stdout == "said\n"
        assert executed or how != ("fexecve",)
        assert ("note: the program executed another program" in done.stderr) == executed, how
    done = run(*words, str(program), "folder", "no-such-program")
    assert "executed another one" not in done.stderr


@pytest.mark.parametrize("case", ["shared", "file", "segment", "memfd", "exec", "crash", "daemon"])
def test_processes_meet_at_the_memory_that_they_share(case: str, tmp_path: Path) -> None:
    """Each operation finds one modified line in another cache."""

    def holds(report: dict[str, Any]) -> bool:
        line = hottest(report)
        assert line["object"].startswith("shared memory: ")
        assert (line["kind"], line["sharing"], line["process"]) == ("shared", "true", None)
        assert line["accesses"][0]["symbol"] == "add"
        everybody = len(line["accesses"][0]["threads"]) == 4
        return everybody and bool(hitm_of(line) / 1200 == pytest.approx(1.0, rel=0.05))

    quiet(lambda: family(tmp_path, case, 4, 300), holds)


def test_sixty_four_processes_meet(tmp_path: Path) -> None:
    quiet(
        lambda: family(tmp_path, "shared", 64, 30),
        lambda report: bool(hitm_of(hottest(report)) / 1920 == pytest.approx(1.0, rel=0.05)),
    )


def owned(report: dict[str, Any]) -> list[dict[str, Any]]:
    return [line for line in report["variants"][0]["lines"] if line["object"] == "own"]


def test_private_memory_of_two_processes_is_never_one_line(tmp_path: Path) -> None:
    """Whether threads alternate does not matter. On a busy host one may end before others begin."""
    own = owned(family(tmp_path, "private", 4, 100))
    assert sorted(line["process"] for line in own) == [1, 2, 3, 4]
    assert [(hitm_of(line), len(line["threads"])) for line in own] == [(0, 1)] * 4
    # Threads of one process share that address, and each process has its own line for it.
    own = owned(family(tmp_path, "threads", 2, 50, "--lines", "100"))
    assert sorted(line["process"] for line in own) == [1, 2]
    assert len({line["address"] for line in own}) == 2
    for line in own:
        [adds] = [access for access in line["accesses"] if access["kind"] == "rmw"]
        assert (adds["records"], len(adds["threads"])) == (100, 2)


def test_a_pipeline_is_as_it_is_without_us(tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(
        "#!/bin/sh -u\n"
        "printf 'b\\na\\n' | sort | tr a-z A-Z\n"
        "sh -c 'kill -9 $$' || echo \"ended by $?\"\n"
        './nowhere || echo "not there $?"\n'
        "cat\n"
        'exec env -i X="$1" /bin/sh -c \'echo "$X"; exit 7\'\n',
        encoding="ascii",
    )
    script.chmod(0o755)
    words = ["sh", "-c", f"{script} 'a b'"]
    alone = subprocess.run(
        words, input="in\n", capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert alone.returncode == 7
    assert alone.stdout.splitlines()[0] == "A"
    out = tmp_path / "out.json"
    done = follow("--out", str(out), "--", *words, stdin="in\n")
    assert (done.returncode, done.stdout) == (alone.returncode, alone.stdout)
    report = json.loads(out.read_text(encoding="utf-8"))
    # The shell, the script, its pipeline's three, and those that kill themselves or do not exist.
    assert report["program"]["processes"] >= 6
    assert not any("without being recorded" in note for note in report["notes"])


def test_without_follow_children_are_counted() -> None:
    options = ("--machine", MACHINE, "--json", "--no-advice", "--uncertainty", "0")
    done = run("record", *options, "--", "sh", "-c", "true | true | true; exit 5")
    assert done.returncode == 5
    report = json.loads(done.stdout)
    assert report["program"]["processes"] == 1
    assert "3 child processes ran without being recorded" in report["notes"]
