# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads from /proc and /sys what the trial's own system needs beside trial/host.py."""

import struct
from dataclasses import replace
from pathlib import Path

from trial.form import Host, Kernel
from trial.host import Machine

ROOT = Path("/")
_EMULATOR = b"TCGTCGTCGTCG"
_HYPERVISOR_LEAF = 0x40000000


def text_of(path: Path) -> str:
    """Return a small file's text; nothing if it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def _emulated(root: Path) -> bool:
    """Whether the processor names QEMU's emulation as its hypervisor."""
    try:
        with (root / "dev/cpu/0/cpuid").open("rb", buffering=0) as file:
            file.seek(_HYPERVISOR_LEAF)
            _, *words = struct.unpack("<4I", file.read(16))
    except (OSError, struct.error):
        return False
    return struct.pack("<3I", *words) == _EMULATOR


def read_host(root: Path = ROOT) -> Host:
    """Return the machine; all of its CPUs are free to use."""
    folders = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/topology")
    cpus = frozenset(int(path.parent.name[3:]) for path in folders)
    host = Machine(root).host(cpus)
    return replace(host, virtual=True, emulated=True) if _emulated(root) else host


def read_kernel(name: str, root: Path = ROOT) -> Kernel:
    """Return the running kernel. ``name`` is its name in the trial."""
    return replace(Machine(root).kernel(), name=name)
