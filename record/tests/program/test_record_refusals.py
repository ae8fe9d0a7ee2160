# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""`record` refuses requests in the right words; cli/tests/data/wrong-input.txt has more of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from recording import MACHINE, PROGRAMS, needs, run

from common.paths import ROOT, build_dir

pytestmark = needs(PROGRAMS / "record-known")


def test_more_cpus_than_the_machine_has() -> None:
    done = run("record", "--machine", MACHINE, "--cpus", "257", "--", "true")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "--cpus 257: epyc-7763-2s has 256" in done.stderr


def test_a_path_with_a_newline_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "two\nlines"
    folder.mkdir()
    usual = ("record", "--machine", MACHINE, "--trace", str(folder / "t"), "--")
    done = run(*usual, str(PROGRAMS / "record-known"), "count", "2", "10", "1")
    assert (done.returncode, done.stdout, list(folder.iterdir())) == (2, "", [])
    shown = str(folder / "t").replace("\n", r"\n")
    assert done.stderr == (
        f"schedshard: {shown} contains a newline, which no recording can store: rename it\n"
    )


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
        (script, "is a script: record the program it starts, or '/bin/sh "),
        (text, "is not an x86-64 ELF program: it is not an ELF file at all"),
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
    done = run("record", "--machine", MACHINE, "--", "/bin/true", PATH="/nonexistent")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "schedshard: qemu-x86_64 is missing, and record needs an emulator"
    )
    assert done.stderr.endswith(": run './make build'\n")


def test_an_emulator_without_plugins_is_named(tmp_path: Path) -> None:
    static = tmp_path / "qemu-x86_64"
    static.write_text("#!/bin/sh\necho -cpu model\n", encoding="ascii")
    static.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run("record", "--machine", MACHINE, "--", "/bin/true", PATH=path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"schedshard: {static} loads no plugins, and record needs an")


@pytest.mark.parametrize("name", ["with space", "with,comma", "with:colon"])
def test_a_build_tree_of_any_name_records(tmp_path: Path, name: str) -> None:
    tree = tmp_path / name
    tree.symlink_to(build_dir(), target_is_directory=True)
    words = ("--marks", "--json", "--uncertainty", "0", "--", str(PROGRAMS / "record-known"))
    done = run(
        *("record", "--machine", MACHINE, *words, "heap", "2", "300", "40"),
        SCHEDSHARD_BUILD=str(tree),
    )
    assert done.returncode == 0
    assert "ld.so" not in done.stderr
    # Only the library that LD_PRELOAD names knows the heap.
    assert "heap: main" in done.stdout


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of 4 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def _exit_seven(tmp_path: Path) -> Path:
    """A program of this suite that ends with status 7."""
    script = tmp_path / "seven.c"
    script.write_text("int main(void) { return 7; }\n")
    program = tmp_path / "seven"
    subprocess.run(["cc", "-g", str(script), "-o", str(program)], check=True)
    return program


def test_a_full_disk_before_the_program_runs(disk: Path, tmp_path: Path) -> None:
    (disk / "all").write_bytes(bytes((4 << 20) - 65536))
    program = str(_exit_seven(tmp_path))
    done = run("record", "--machine", MACHINE, "--", program, TMPDIR=str(disk))
    assert done.returncode == 2
    assert done.stderr.startswith(f"schedshard: cannot write in {disk}/")
    assert done.stderr.endswith("no space left on device\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("kept", [False, True])
def test_a_disk_that_the_program_fills(disk: Path, tmp_path: Path, kept: bool) -> None:
    """Regression: four lines said that the disk was full (two with --trace), instead of one."""
    fills = "cat /dev/zero > $0; head -c 9000000 /dev/zero | sort > /dev/null"
    trace = ("--trace", str(disk / "trace")) if kept else ()
    words = ("--machine", MACHINE, "--cpus", "8", *trace, "--", "sh", "-c", fills, f"{disk}/all")
    done = run("record", "--follow", *words, TMPDIR=str(tmp_path if kept else disk))
    assert done.returncode == 1
    messages = [line for line in done.stderr.splitlines() if line.startswith("schedshard: ")]
    assert len(messages) == 1, messages
    assert messages[0].startswith(f"schedshard: cannot write {'all of ' if kept else ''}{disk}/")
    assert [path.name for path in disk.iterdir()] == ["all"]


@pytest.mark.parametrize("full", [("--json",), ("--out", "/nowhere/report.json")])
def test_a_report_that_cannot_be_written_keeps_the_status(
    tmp_path: Path, full: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("w") as nothing:
        done = subprocess.run(
            [
                *(sys.executable, "-m", "cli", "record", "--machine", MACHINE),
                *("--uncertainty", "0", *full, "--", str(_exit_seven(tmp_path))),
            ],
            stdout=nothing if full == ("--json",) else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
    last = done.stderr.splitlines()[-1]
    if full == ("--json",):
        assert done.returncode == 7
        assert last == "schedshard: cannot write to standard output: no space left on device"
    else:  # known before the program runs
        assert done.returncode == 2
        assert "/nowhere" in last
