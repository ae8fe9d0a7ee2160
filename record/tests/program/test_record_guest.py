# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The parts of record --guest work on this host, without a kernel."""

from __future__ import annotations

import os
import platform
import pty
import subprocess
import threading
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from common.errors import UserError
from common.paths import ROOT, build_dir
from kernel.profile.program import ARGV, GuestReport, parse_report, program_files
from model.machines.presets import load_machine
from record.names.guest_names import GuestMemory
from record.names.memory import field_of
from record.program.program import find_program
from record.report.replaying import Job, watch_lines

SOURCE = ROOT / "kernel" / "guest" / "record-run.c"
KNOWN = build_dir() / "record" / "tests" / "program" / "record-known"

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="of x86-64 only")


def section(name: str, content: bytes) -> bytes:
    return f"{name} {len(content)}\n".encode() + content


def reply(**parts: bytes) -> bytes:
    usual = {"maps": b"", "pages": b"", "out": b"", "err": b"", "status": b"0"}
    return b"".join(section(name, content) for name, content in (usual | parts).items())


def test_what_the_guest_says_is_read() -> None:
    maps = (
        b"555555554000-555555555000 rw-p 00001000 00:02 7    /bin/a b\n"
        b"7fff0000-7fff1000 rw-p 0 0 0\n"
    )
    report = parse_report(
        reply(maps=maps, pages=b"555555554000 7f000\n", out=b"a\n\0", err=b"err 9\n")
    )
    assert (report.out, report.err) == (b"a\n\0", b"err 9\n")
    assert report.maps == (
        (0x555555554000, 0x555555555000, "rw-p", 0x1000, "/bin/a b"),
        (0x7FFF0000, 0x7FFF1000, "rw-p", 0, ""),
    )
    assert report.pages == {0x555555554000: 0x7F000}


@pytest.mark.parametrize(
    ("status", "code", "signal"), [(0, 0, 0), (42 << 8, 42, 0), (6, 134, 6), (6 | 0x80, 134, 6)]
)
def test_the_exit_status_is_that_of_a_shell(status: int, code: int, signal: int) -> None:
    report = parse_report(reply(status=str(status).encode()))
    assert (report.code, report.signal) == (code, signal)


@pytest.mark.parametrize("end", [0, 3, 20, -1])
def test_a_guest_that_was_cut_short_is_an_error(end: int) -> None:
    data = reply(out=b"twelve bytes", status=b"256")
    with pytest.raises(UserError, match=r"the guest did not report|is cut short"):
        parse_report(data[:end])


def test_the_guest_gets_the_program_its_libraries_and_its_arguments(tmp_path: Path) -> None:
    more = tmp_path / "data"
    more.write_text("x", encoding="ascii")
    program = find_program(["/bin/ls", "a b", "", "\t\n"])
    files = program_files(program, [more])
    assert any(Path(path).name.startswith("libc.so") for path in files)
    assert any("ld-linux" in path for path in files)
    assert files[ARGV].data == b"/bin/ls\0a b\0\0\t\n\0"
    assert files[str(more)].mode & 0o111 == 0
    assert files["/bin/ls"].mode & 0o111 == 0o111
    with pytest.raises(UserError, match=r"--guest-file .*nowhere: no such file"):
        program_files(program, [tmp_path / "nowhere"])
    with pytest.raises(
        UserError, match=r"/proc/version is in /proc, where the guest has its own files"
    ):
        program_files(program, [Path("/proc/version")])


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile record-run with its files in a folder; each test links its serial line there."""
    folder = tmp_path_factory.mktemp("runner")
    places = {"ARGV": "argv", "OUT": "out", "ERR": "err", "LINE": "line"}
    defines = [f'-D{name}="{folder / place}"' for name, place in places.items()]
    subprocess.run(
        ["gcc", "-std=gnu11", "-O1", *defines, str(SOURCE), "-o", str(folder / "record-run")],
        check=True,
    )
    return folder


def run_here(folder: Path, *words: str) -> GuestReport:
    """Return record-run's report of a program on this host; the serial line is a terminal."""
    (folder / "argv").write_bytes(b"".join(word.encode() + b"\0" for word in words))
    master, slave = pty.openpty()
    (folder / "line").unlink(missing_ok=True)
    (folder / "line").symlink_to(os.ttyname(slave))
    heard: list[bytes] = []

    def listen() -> None:
        while True:
            try:
                heard.append(os.read(master, 65536))
            except OSError:  # the other side is closed
                return

    listener = threading.Thread(target=listen)
    listener.start()
    done = subprocess.run(
        [str(folder / "record-run"), "0", "0", "0"], timeout=60, check=False, capture_output=True
    )
    os.close(slave)
    listener.join(10)
    os.close(master)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    return parse_report(b"".join(heard))


def test_a_program_runs_and_is_reported(runner: Path) -> None:
    script = r"""printf 'out \r\n\000'; echo "$1,$2" >&2; exit 7"""
    report = run_here(runner, "/bin/sh", "-c", script, "sh", "a b", "")
    assert (report.out, report.err, report.code) == (b"out \r\n\0", b"a b,\n", 7)
    assert any(name.endswith("sh") for *_, name in report.maps)
    assert any(rights.startswith("rw") and name == "[stack]" for *_, rights, _, name in report.maps)
    assert report.pages


def test_a_signal_ends_a_program_as_it_does_without_us(runner: Path) -> None:
    report = run_here(
        runner, "/bin/sh", "-c", "trap 'echo seen' USR1; kill -USR1 $$; kill -ABRT $$"
    )
    assert (report.out, report.code, report.signal) == (b"seen\n", 134, 6)


def test_a_program_that_is_not_there_is_said(runner: Path) -> None:
    report = run_here(runner, "/nowhere/x")
    assert report.code == 127
    assert b"cannot run /nowhere/x" in report.err


@pytest.mark.skipif(not KNOWN.is_file(), reason="needs a build")
def test_lines_of_the_program_and_of_the_kernel_have_names() -> None:
    with KNOWN.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        assert isinstance(table, SymbolTableSection)
        symbol = next(s for s in table.iter_symbols() if s.name == "side")["st_value"]
    base, frame = 0x555555554000, 0x7F000
    page = (base + symbol) // 4096 * 4096
    process = {
        "image": 0, "program": 0, "shared": [],
        "maps": [[base, base + 0x1000, 0, str(KNOWN)]],
        "regions": [], "stacks": [], "threads": [], "objects": [], "sites": [],
    }  # fmt: skip
    meta = {
        "images": [[0, 0, 0, True]], "processes": [process], "pages": [],
        "guest": {
            "pages": [[page, frame], [0x7FFFF000, 0x80000]],
            "areas": [[0x7FFFF000, 0x80000000, "[stack]"]],
            "lines": {
                "0xffff888000001040": {
                    "object": "runqueues[3]", "kind": "runqueues", "type": "struct rq",
                    "offset": 64, "fields": {"8": "nr_running"},
                }
            },
            "code": {"0xffffffff81000010": [["schedule", "core.c:1"]]},
        },
    }  # fmt: skip
    objects = GuestMemory(meta)
    try:
        at = frame + (base + symbol) % 4096
        objects.learn({at: frozenset()})
        side = objects.name_of(at + 16)
        assert side is not None
        assert (side.name, side.address) == ("side", at)
        assert side.field(16) == "[1].count"
        stack = objects.name_of(0x80010)
        assert stack is not None
        assert stack.name == "stack"
        kernel = objects.name_of(0xFFFF888000001048)
        assert kernel is not None
        assert kernel.name == "kernel: runqueues[3]"
        assert kernel.field(0xFFFF888000001048 - kernel.address) == "nr_running"
        unknown = objects.name_of(0x123000)
        assert unknown is not None
        assert unknown.name == "memory of programs"
        assert [objects.process(place) for place in (at, 0x123000, 0xFFFF888000001048)] == [
            0, None, None,
        ]  # fmt: skip
        (frame_of_kernel,) = objects.frames([0xFFFFFFFF81000010])[0xFFFFFFFF81000010]
        assert frame_of_kernel.function == "schedule"
        assert field_of(kernel, 0xFFFF888000001048, None) == "struct rq.nr_running"
        assert objects.instruction(0xFFFFFFFF81000010) == ("", 0xFFFFFFFF81000010)
        assert [module.path for module in objects.modules_at([base, 0xFFFFFFFF81000010])] == [KNOWN]
    finally:
        objects.close()


def test_a_replay_moves_bytes_of_the_kernel() -> None:
    # The trace has the lower 48 bits of their addresses (record/plugin/item.h).
    moved = ((0xFFFF888000001048, 0xFFFF888000001050),)
    job = Job(load_machine("epyc-7763-2s"), (0,), moved)
    assert "pad 0x888000001048 0x888000001050\n" in watch_lines(job, Path("result"))
