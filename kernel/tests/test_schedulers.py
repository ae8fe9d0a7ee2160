# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Schedulers of sched_ext beside a kernel's own: what can be tested without a guest."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from fake_kernel import fake_program, make_fetched, write

from common.errors import UserError
from common.paths import ROOT
from kernel.layout import Layout
from kernel.profile import c2c as module
from kernel.profile.c2c import C2cRequest, Kernel, one_kernel, with_schedulers
from kernel.profile.schedulers import (
    CODE,
    Programs,
    build_scheduler,
    check_schedulers,
    known_schedulers,
    scheduler_files,
)
from kernel.testing.run import compiled_parts
from model.machines.presets import load_machine, machine_topology
from record.shape import usual_shape

STATE = "/sys/kernel/sched_ext/state"
# A file of the kernel's make: the program lies where tools/sched_ext puts it.
MAKE = """\
scx_simple:
	@test -n "$(VMLINUX_BTF)" && test "$(CLANG)" = clang-19
	@mkdir -p $(O)/build/bin && cp /bin/true $(O)/build/bin/scx_simple
scx_lost:
	@true
"""


def layout_with_schedulers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    layout: Layout = make_fetched(folder, monkeypatch)
    for name in ("scx_simple", "scx_lost"):
        write(layout.base / f"tools/sched_ext/{name}.bpf.c", "")
    write(layout.base / "tools/sched_ext/Makefile", MAKE)
    preloaded = (ROOT / "kernel/guest/scx-no-net.c").read_text(encoding="utf-8")
    write(layout.inputs / "guest/scx-no-net.c", preloaded)
    for path in (layout.base / "tools").rglob("*"):
        os.utime(path, (1_600_000_000, 1_600_000_000))  # nobody wrote to it since it was unpacked
    for name in ("clang-19", "llvm-strip-19"):
        fake_program(folder / "bin", name, "exit 1")
    return layout


def test_each_kernel_alone_and_with_each_scheduler(tmp_path: Path) -> None:
    kernels = tuple(Kernel(name, tmp_path, tmp_path) for name in ("stock", "shard"))
    assert with_schedulers(kernels, ()) == kernels
    assert [(k.name, k.scheduler) for k in with_schedulers(kernels, ("scx_a", "scx_b"))] == [
        ("stock", ""),
        ("stock+scx_a", "scx_a"),
        ("stock+scx_b", "scx_b"),
        ("shard", ""),
        ("shard+scx_a", "scx_a"),
        ("shard+scx_b", "scx_b"),
    ]


def test_code_of_bpf_gets_the_names_of_the_log() -> None:
    low = CODE[0]
    programs = Programs()
    programs.hear("[    1.0] # bpf ffffffffa0001000 bpf_prog_0123456789abcdef_of_the_last_boot")
    programs.hear("[    0.1] # guest release 7.3.4-stock")
    programs.hear(f"[    2.0] # bpf {low + 0x100:016x} bpf_prog_0123456789abcdef_simple_enqueue")
    programs.hear(f"[    2.0] # bpf {low + 0x900:016x} bpf_trampoline_77")
    programs.hear("[    2.0] # begin 1 pipes")
    pcs = (low + 0x100, low + 0x8FF, low + 0x900, low + 0x50, low - 1, CODE[1])
    named = {pc: frames[0].function for pc, frames in programs.frames(pcs).items()}
    assert named == {
        low + 0x100: "simple_enqueue",
        low + 0x8FF: "simple_enqueue",
        low + 0x900: "bpf_trampoline_77",
        low + 0x50: "?",
    }


def test_a_scheduler_is_compiled_once_a_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_with_schedulers(tmp_path, monkeypatch)
    assert known_schedulers(layout) == ("scx_lost", "scx_simple")
    old = write(layout.work / "schedulers/of-another-base/build/bin/scx_simple", "")
    vmlinux = write(tmp_path / "vmlinux", "")
    program = build_scheduler(layout, "scx_simple", vmlinux)
    assert program.read_bytes() == Path("/bin/true").read_bytes()
    assert not old.exists()
    written = program.stat().st_mtime_ns
    files = scheduler_files(layout, "scx_simple", vmlinux)
    assert program.stat().st_mtime_ns == written
    assert files["/bin/scx_simple"].data == program
    assert any("/libc.so" in path for path in files)
    assert "/lib/scx-no-net.so" in files
    assert compiled_parts(layout, ["scx_simple", "rt-tests"], vmlinux) == files
    assert compiled_parts(layout, ["rt-tests"], vmlinux) == {}
    with pytest.raises(UserError, match="scx_lost was compiled, and is not there") as error:
        build_scheduler(layout, "scx_lost", vmlinux)
    assert error.value.status == 1


def test_what_is_missing_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    layout = layout_with_schedulers(tmp_path, monkeypatch)
    check_schedulers(layout, ["scx_simple"])
    with pytest.raises(UserError, match="unknown scheduler of sched_ext 'scx_simpel'") as error:
        check_schedulers(layout, ["scx_simpel"])
    assert "\n" not in str(error.value)
    monkeypatch.setattr("common.programs.shutil.which", lambda name: None)
    with pytest.raises(UserError, match=r"clang-19, .*bootstrap kernel sched-ext'") as error:
        check_schedulers(layout, ["scx_simple"])
    assert "\n" not in str(error.value)
    check_schedulers(layout, [])


def test_the_guest_loads_the_scheduler_first(tmp_path: Path) -> None:
    kernel = Kernel("stock", tmp_path, tmp_path)
    request = C2cRequest((kernel,), usual_shape(16), load_machine("epyc-7763-2s"), "pipes")
    alone = module._boot_request(request, kernel, "x").steps[0]
    with_one = module._boot_request(request, replace(kernel, scheduler="scx_a"), "x").steps[0]
    assert with_one.argv == ("/bin/scx.sh", "scx_a", *alone.argv)


def test_a_kernel_without_the_class(tmp_path: Path) -> None:
    source = write(tmp_path / "x.c", "int main(void) { return 0; }\n")
    subprocess.run(["gcc", "-o", tmp_path / "vmlinux", source], check=True)
    kernel = Kernel("stock+scx_a", tmp_path, tmp_path / "vmlinux", "scx_a")
    request = C2cRequest((kernel,), usual_shape(16), load_machine("epyc-7763-2s"), "pipes")
    with pytest.raises(UserError, match=r"kernel stock has no sched_ext: .*--config sched-ext"):
        one_kernel(
            Layout(work=tmp_path), request, kernel, machine_topology(request.machine),
            lambda _: None,
        )  # fmt: skip


def _script(folder: Path, scheduler: str, command: str) -> subprocess.CompletedProcess[str]:
    """Run scx.sh on a system in a folder."""
    text = (ROOT / "kernel/guest/scx.sh").read_text(encoding="utf-8")
    for path in (STATE, "/tmp/scheduler.log", "/proc/kallsyms", "/dev/kmsg"):
        assert path in text
        text = text.replace(path, str(folder / Path(path).name))
    start = 'LD_PRELOAD=/lib/scx-no-net.so "/bin/$scheduler"'
    assert start in text
    text = text.replace(start, f'"{folder}/$scheduler"')
    kallsyms = "ffffffff81000000 T _stext\nffffffffa0000100 t bpf_prog_0123456789abcdef_a\t[bpf]\n"
    write(folder / "kallsyms", kallsyms)
    fake_program(folder, "scx_a", f"cd {folder}\n{scheduler}")
    argv: list[str | Path] = ["sh", write(folder / "scx.sh", text), "scx_a", "sh", "-c", command]
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


def test_the_script_loads_and_ends_a_scheduler(tmp_path: Path) -> None:
    loads = "trap 'echo disabled >state; exit' TERM; echo enabled >state"
    done = _script(tmp_path, f"{loads}; while :; do sleep 0.1; done", "cat state; exit 7")
    assert (done.returncode, done.stdout, done.stderr) == (7, "enabled\n", "")
    assert (tmp_path / "state").read_text() == "disabled\n"
    logged = (tmp_path / "kmsg").read_text()
    assert logged == "# bpf ffffffffa0000100 bpf_prog_0123456789abcdef_a\n"


def test_the_script_says_when_a_scheduler_is_not_there(tmp_path: Path) -> None:
    done = _script(tmp_path, "echo no BPF here >&2; exit 1", "echo never")
    assert (done.returncode, done.stdout) == (1, "no BPF here\nscx_a: not loaded\n")
    done = _script(tmp_path, "echo enabled >state; sleep 0.3", "echo disabled >state")
    assert done.returncode == 1
    assert done.stdout.endswith("scx_a: unloaded before the command had ended\n")


# The kernel of a guest without a network: what it says to the loading of each type of program.
KERNEL = """\
#include <errno.h>
#include <stdarg.h>
long syscall(long nr, ...)
{
	va_list list;
	unsigned *attr;

	va_start(list, nr);
	va_arg(list, long);
	attr = va_arg(list, unsigned *);
	va_end(list);
	if (attr[0] == 1) {
		errno = EINVAL;
		return -1;
	}
	return 100 * attr[0] + attr[1];
}
"""
LOADER = """\
#include <linux/bpf.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	unsigned attr[60] = { BPF_PROG_TYPE_SOCKET_FILTER, 7 }, other[60] = { 2, 7 };

	printf("%ld ", syscall(__NR_bpf, BPF_PROG_LOAD | 1 << 16, attr, sizeof(attr)));
	printf("%ld ", syscall(__NR_bpf, BPF_PROG_LOAD, other, sizeof(other)));
	printf("%ld ", syscall(__NR_bpf, BPF_MAP_CREATE, attr, sizeof(attr)));
	printf("%u\\n", attr[0]);
	return 0;
}
"""


def test_a_kernel_without_a_network_is_asked_by_another_type_of_program(tmp_path: Path) -> None:
    shared = ("-shared", "-fPIC")
    ours = ROOT / "kernel/guest/scx-no-net.c"
    for name, source, flags in (
        ("ours.so", ours, shared),
        ("kernel.so", write(tmp_path / "kernel.c", KERNEL), shared),
        ("loader", write(tmp_path / "loader.c", LOADER), ()),
    ):
        subprocess.run(["gcc", "-Wall", *flags, "-o", tmp_path / name, source], check=True)
    preload = f"{tmp_path}/ours.so {tmp_path}/kernel.so"
    done = subprocess.run(
        [tmp_path / "loader"],
        env={"LD_PRELOAD": preload},
        capture_output=True,
        check=True,
        text=True,
    )
    # 17: that of a raw tracepoint. Maps and other types go their usual way.
    assert done.stdout == "1707 207 -1 1\n"
