# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Each architecture has its own compiler, emulator, caches and tests."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import UserError
from kernel.arch import ARM64, X86
from kernel.build.make import Make
from kernel.guest.boot import BootRequest, qemu_argv
from kernel.guest.devicetree import cache_source, tree_with_caches
from kernel.guest.initramfs import contents
from kernel.layout import Layout
from kernel.testing.plan import chosen
from record.shape import Shape

SHAPE = Shape(packages=2, nodes=1, llcs=2, cores=2, threads=2)


def test_make_is_told_the_compiler() -> None:
    own = Make(Path("s"), Path("o"), "log").argv(["bzImage"])
    assert "CC=ccache gcc" in own
    assert not [word for word in own if word.startswith(("CROSS_COMPILE", "ARCH"))]
    other = Make(Path("s"), Path("o"), "log", arch=ARM64).argv(["Image"])
    assert {"ARCH=arm64", "CC=ccache aarch64-linux-gnu-gcc"} < {*other}
    assert "CROSS_COMPILE=aarch64-linux-gnu-" in other


def test_the_emulator_of_each() -> None:
    request = BootRequest(Path("Image"), "x", SHAPE)
    arm = qemu_argv(request, Path("i"), Path("log"), None, ARM64)
    assert arm[0] == "qemu-system-aarch64"
    assert "16,sockets=2,clusters=2,cores=2,threads=2" in arm
    assert "console=ttyAMA0" in arm[arm.index("-append") + 1].split()
    x86 = qemu_argv(request, Path("i"), Path("log"), None, X86)
    assert "16,sockets=2,dies=2,cores=2,threads=2" in x86
    assert "console=ttyS0" in x86[x86.index("-append") + 1].split()


def test_each_cpu_reaches_its_llc_through_its_l2() -> None:
    behind = dict(
        re.findall(r"(\S+)(?:: \S+)? {.*next-level-cache = <&(\w+)>;", cache_source(SHAPE))
    )
    assert len({behind[f"cpu@{cpu}"] for cpu in range(16)}) == 8
    for cpu in range(16):
        assert behind[f"cpu@{cpu}"] == behind[f"cpu@{cpu ^ 1}"]
        assert behind[behind[f"cpu@{cpu}"]] == f"llc{cpu // 4}"


@pytest.mark.skipif(
    not (shutil.which("dtc") and shutil.which(ARM64.qemu)),
    reason="needs dtc and qemu-system-aarch64 (scripts/bootstrap arm64)",
)
def test_the_tree_has_the_caches(tmp_path: Path) -> None:
    layout = Layout(work=tmp_path, arch=ARM64)
    request = BootRequest(Path("Image"), "x", SHAPE)
    argv = qemu_argv(request, Path("i"), tmp_path / "log", None, ARM64)
    kept = argv[: argv.index("-kernel")]
    tree = tree_with_caches(layout, "x", SHAPE, kept)

    def read(node: str, name: str) -> str:
        argv = ["fdtget", str(tree), node, name]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    assert read("/cpus/cpu@15", "next-level-cache") == read("/cpus/l2-cache-l2c7", "phandle")
    assert read("/cpus/l2-cache-l2c7", "next-level-cache") == read("/cpus/l3-cache-llc3", "phandle")
    assert [
        read(f"/cpus/{node}", "cache-level") for node in ("l2-cache-l2c7", "l3-cache-llc3")
    ] == ["2", "3"]


def test_only_tests_without_programs_of_the_host() -> None:
    assert chosen([], arch=ARM64) == ["storm-deadline", "storm-walk", "storm"]
    with pytest.raises(UserError, match="--test ffmpeg needs programs of this host"):
        chosen(["ffmpeg"], arch=ARM64)
    with pytest.raises(UserError, match="guests of arm64 have no ffmpeg"):
        contents(replace(Layout(), arch=ARM64), ["ffmpeg"])
