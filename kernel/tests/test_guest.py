# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The host makes a guest's archive, starts the emulator, watches the guest and ends it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UserError
from common.programs import libraries
from kernel.guest import boot as boot_module
from kernel.guest import programs as guest_module
from kernel.guest.boot import (
    BootRequest,
    Emulation,
    Emulator,
    Ending,
    Limits,
    Step,
    boot,
    plan_text,
    qemu_argv,
)
from kernel.guest.cpio import Entry, archive, character_device, link, plain
from kernel.guest.initramfs import Initramfs, make_initramfs
from kernel.guest.programs import build_guest
from kernel.layout import Layout
from kernel.testing.plan import PROGRAMS
from record.shape import Shape


def test_cpio_reads_what_was_written(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(b"x" * 5)
    files = {
        "/init": plain(program, executable=True),
        "/etc/plan": plain(b"a\tb\n"),
        "/bin/sh": link("/bin/busybox"),
        "/lib/x86_64/deep/file.so": plain(b""),
    }
    out = tmp_path / "out"
    out.mkdir()
    for name, packed in (("first", files), ("later", {"/etc/plan": plain(b"new\n")})):
        path = tmp_path / name
        path.write_bytes(b"".join(archive(packed)))
        assert path.stat().st_size % 4 == 0
        with path.open("rb") as file:
            subprocess.run(
                ["cpio", "-idu", "--quiet", "--no-absolute-filenames"],
                cwd=out,
                stdin=file,
                check=True,
            )
    assert (out / "init").read_bytes() == b"xxxxx"
    assert os.access(out / "init", os.X_OK)
    assert (out / "etc/plan").read_bytes() == b"new\n"
    assert (out / "bin/sh").readlink() == Path("/bin/busybox")
    assert (out / "lib/x86_64/deep/file.so").stat().st_size == 0


def test_the_same_files_make_the_same_bytes_in_any_order() -> None:
    files: dict[str, Entry] = {"/b": plain(b"1"), "/a/c": character_device(5, 1)}
    backwards = dict(reversed(files.items()))
    assert b"".join(archive(files)) == b"".join(archive(backwards))
    assert stat.S_ISCHR(files["/a/c"].mode)


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read .*absent for the guest"):
        list(archive({"/a": plain(tmp_path / "absent")}))


def test_libraries_of_a_dynamic_program_and_of_none() -> None:
    shell = shutil.which("sh")
    assert shell is not None
    paths = libraries(Path(shell))
    assert any(path.name.startswith("libc.so") for path in paths)
    assert all(path.is_absolute() and path.exists() for path in paths)
    assert libraries(Path(__file__)) == []


def test_a_plan_is_one_line_a_test() -> None:
    steps = [Step("storm", ("/bin/storm.sh", "10", "1"), 99), Step("b", ("/bin/true",), 5)]
    assert plan_text(steps) == "storm\t99\t/bin/storm.sh\t10\t1\nb\t5\t/bin/true\n"
    with pytest.raises(ValueError, match="cannot be written"):
        plan_text([Step("a", ("/bin/sh", "-c", "a\tb"), 5)])


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The guest's programs, compiled where no other test writes."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc here")
    return build_guest(Layout(work=tmp_path_factory.mktemp("work")))


def test_the_guests_programs_need_nothing_of_the_guest(programs: dict[str, Path]) -> None:
    assert {"init", "rt-storm", "churn", "storm.sh"} <= set(programs)
    for name in ("init", "rt-storm", "churn"):
        assert libraries(programs[name]) == []


def test_our_tests_run_programs_of_the_guest(programs: dict[str, Path]) -> None:
    for name, test in PROGRAMS.items():
        if test.parts:
            continue
        first, *words = test.argv(10, 1, 4)
        assert first.removeprefix("/bin/") in programs, name
        if first.endswith("push-ipi.sh"):
            assert words[1] in programs, name


def test_builds_that_others_may_be_using_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guest_module, "PROGRAMS", {})
    monkeypatch.setattr(guest_module, "_HOST_PROGRAMS", {})
    folder = tmp_path / "guest"
    for age in range(30):
        (folder / f"old-{age}").mkdir(parents=True)
        os.utime(folder / f"old-{age}", (10**9 - age, 10**9 - age))
    build_guest(Layout(work=tmp_path))
    left = sorted(int(p.name[4:]) for p in folder.iterdir() if p.name.startswith("old-"))
    assert left == list(range(20))


@pytest.mark.parametrize("arguments", [[], ["x"], ["0"], ["5s"], ["99999999"]])
@pytest.mark.parametrize("name", ["rt-storm", "churn", "walk-self"])
def test_a_wrong_duration_is_one_line(
    programs: dict[str, Path], name: str, arguments: list[str]
) -> None:
    done = subprocess.run(
        [programs[name], *arguments], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{name}: give the seconds to run, 1 to 86400\n"


def test_an_archive_is_made_once(tmp_path: Path) -> None:
    if shutil.which("busybox") is None:
        pytest.skip("no busybox here")
    layout = Layout(work=tmp_path)
    made = make_initramfs(layout, ())
    stamp = made.path.stat().st_mtime_ns
    assert make_initramfs(layout, ("base",)) == made
    assert made.path.stat().st_mtime_ns == stamp
    with made.path.open("rb") as file:
        listed = subprocess.run(
            ["cpio", "-t", "--quiet"], stdin=file, capture_output=True, text=True, check=True
        )
    names = set(listed.stdout.split())
    assert {"init", "bin/busybox", "bin/sh", "bin/rt-storm", "bin/churn", "bin/chrt"} <= names
    assert made.files < len(names)  # and folders


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A work area whose archive is there, and no emulator but the one that a test makes."""
    layout = Layout(project=tmp_path, work=tmp_path / "work")
    base = layout.make_folder(layout.work / "initramfs") / "base.cpio"
    base.write_bytes(b"ARCHIVE!")
    monkeypatch.setattr(boot_module, "make_initramfs", lambda *_: Initramfs(base, 1))
    monkeypatch.setattr(boot_module, "host_tsc_khz", lambda _: 2500000)
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    monkeypatch.setenv("PATH", f"{bin_dir}:/usr/bin:/bin")
    return layout


def emulator(layout: Layout, body: str) -> None:
    """A stand-in for the emulator: its log is in $log, and its archive in $initrd."""
    path = layout.project / "bin" / "qemu-system-x86_64"
    head = (
        "#!/bin/sh\n"
        'while [ $# -gt 0 ]; do case "$1" in -serial) log=${2#file:};; -initrd) initrd=$2;; esac; '
        "shift; done\n"
    )
    path.write_text(head + body, encoding="ascii")
    path.chmod(0o755)


def request(*limits: float) -> BootRequest:
    steps = (Step("storm", ("/bin/storm.sh",), 9),)
    return BootRequest(Path("/bzImage"), "guest", Shape(cores=2), (), steps, limits=Limits(*limits))


def test_a_guest_that_powers_off(layout: Layout) -> None:
    emulator(layout, 'echo one >"$log"; grep -ac storm.sh "$initrd" >>"$log"; printf cut >>"$log"')
    lines: list[str] = []
    booted = boot(layout, request(), lines.append)
    assert booted.ending is Ending.OFF
    assert lines == booted.lines == ["one", "1"]
    assert booted.log.read_text(encoding="ascii") == "one\n1\ncut"
    # The plan was added to a copy that is gone.
    assert [path.name for path in (layout.work / "initramfs").iterdir()] == ["base.cpio"]


PANIC = "[ 1.5] Kernel panic - not syncing: Fatal exception"


@pytest.mark.parametrize(
    ("body", "limits", "ending", "lines"),
    [
        ('echo one >"$log"; exec sleep 100', (0.5,), Ending.SILENT, ["one"]),
        (f'echo "{PANIC}" >"$log"; while :; do echo x >>"$log"; sleep 0.05; done', (60.0, 60.0),
         Ending.PANICKED, [PANIC, "x"]),
        ('while :; do echo x >>"$log"; sleep 0.05; done', (60.0, 1.0), Ending.LATE, ["x", "x"]),
        ("trap '' TERM; while :; do sleep 0.1; done", (0.3,), Ending.SILENT, []),
    ],
    ids=["silent", "panicked", "talks for ever", "will not end"],
)  # fmt: skip
def test_a_guest_that_must_be_ended(
    layout: Layout, monkeypatch: pytest.MonkeyPatch, body: str, limits: tuple[float, ...],
    ending: Ending, lines: list[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(boot_module, "_PANIC_SECONDS", 0.3)
    monkeypatch.setattr(boot_module, "_KILL_SECONDS", 0.3)
    emulator(layout, body)
    booted = boot(layout, request(*limits))
    assert (booted.ending, booted.lines[:2]) == (ending, lines)


@pytest.mark.parametrize("by", ["an exception", "another thread"])
def test_an_interrupted_run_leaves_no_emulator(layout: Layout, by: str) -> None:
    emulator(layout, 'echo $$ >"$log"; exec sleep 100')
    stop = threading.Event()
    pids: list[int] = []

    def on_line(line: str) -> None:
        pids.append(int(line))
        if by == "an exception":
            raise KeyboardInterrupt
        stop.set()

    with pytest.raises(KeyboardInterrupt):
        boot(layout, request(), on_line, stop)
    assert not Path(f"/proc/{pids[0]}").exists()


def test_an_emulator_that_fails_says_why(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    emulator(layout, 'echo "qemu-system-x86_64: warning: x" >&2; echo "no such CPU" >&2; exit 1')
    with pytest.raises(UserError, match=r"qemu-system-x86_64: no such CPU \(its messages: work/"):
        boot(layout, request())
    (layout.project / "bin/qemu-system-x86_64").unlink()
    monkeypatch.setenv("PATH", str(layout.project / "bin"))
    with pytest.raises(UserError, match="qemu-system-x86_64 not found: run 'scripts/bootstrap"):
        boot(layout, request())


STALE = "[ 0.9] Oops: int3: 0000 [#1] SMP"


@pytest.mark.parametrize(
    ("emulation", "times", "booted_before", "last"),
    [
        (Emulation.MULTI, 1, 1, "good"),
        (Emulation.MULTI, 9, 3, STALE),
        (Emulation.SINGLE, 1, 0, STALE),
    ],
)
def test_a_guest_that_met_a_stale_breakpoint_boots_again(
    layout: Layout, emulation: Emulation, times: int, booted_before: int, last: str
) -> None:
    count = layout.project / "count"
    emulator(
        layout,
        f'echo >>{count}; line=good; [ "$(wc -l <{count})" -gt {times} ] || line="{STALE}"; '
        'echo "$line" >"$log"',
    )
    booted = boot(layout, replace(request(), emulator=Emulator(emulation)))
    assert (booted.stale, booted.lines) == (booted_before, [last])


def test_the_emulators_arguments() -> None:
    shape = Shape(packages=2, cores=16, threads=2, split_llc=4)
    plugin = Emulator(arguments=("-plugin", "p.so"))
    wanted = BootRequest(Path("/k"), "n", shape, parameters=("a=1",), emulator=plugin)
    argv = qemu_argv(wanted, Path("/i"), Path("/l"), 2500000)
    assert argv[argv.index("-kernel") + 1] == "/k"
    assert argv[argv.index("-initrd") + 1] == "/i"
    assert argv[argv.index("-serial") + 1] == "file:/l"
    words = argv[argv.index("-append") + 1].split()
    assert {"shard_split=4", "a=1", "oops=panic", "tsc_early_khz=2500000", "lpj=25000000"} < set(
        words
    )
    assert argv[-2:] == ["-plugin", "p.so"]
    assert "-no-reboot" in argv
    assert "-icount" not in argv
    argv = qemu_argv(
        replace(wanted, emulator=Emulator(counted=True)), Path("/i"), Path("/l"), 1000000
    )
    assert argv[argv.index("-icount") + 1] == "shift=0,sleep=off"
