# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Counts, on all CPUs, reads of lines that another CPU's cache supplied, by perf_event_open().

The events are those of perf's tables for servers. Intel's count loads of lines that another cache
had modified (HITM). AMD's, from Zen 3 on, count fills from the cache of another core complex,
modified or not.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import resource
import struct
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

_SYSCALL = {"x86_64": 298, "aarch64": 241}
_RAW = 4  # PERF_TYPE_RAW
_TIMES = 3  # the times that an event was enabled, and that a counter counted it
_CLOSE = 8  # PERF_FLAG_FD_CLOEXEC
Codes = Mapping[str, tuple[int, int]]  # type and code, by the name of a figure
_INTEL: Codes = {"hitm-near": (_RAW, 0x4D2), "hitm-far": (_RAW, 0x4D3)}
_AMD: Codes = {"fills-near": (_RAW, 0x443), "fills-far": (_RAW, 0x1043)}
# Xeons from Skylake to Granite Rapids, whose cores have these events.
_XEONS = (0x55, 0x6A, 0x6C, 0x8F, 0xCF, 0xAD, 0xAE)
_ZEN_3 = 25


def codes(root: Path = Path("/")) -> Codes:
    """Return the events of this processor; nothing if none is known."""
    try:
        text = (root / "proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return {}
    facts = dict(re.findall(r"^(vendor_id|cpu family|model)\s*: (\w+)$", text, re.MULTILINE))
    maker, family = facts.get("vendor_id"), int(facts.get("cpu family", 0))
    if maker == "GenuineIntel" and family == 6 and int(facts["model"]) in _XEONS:
        return _INTEL
    return _AMD if maker == "AuthenticAMD" and family >= _ZEN_3 else {}


class Events:
    """Open events of some CPUs. ``why`` says why there are none."""

    def __init__(self, cpus: Sequence[int], wanted: Codes | None = None) -> None:
        self._files: dict[str, list[int]] = {}
        self.why = ""
        known = codes() if wanted is None else wanted
        if not known:
            self.why = "no events of cache lines are known for this processor"
        # A file per event and CPU.
        with suppress(OSError, ValueError):
            most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        try:
            for name, (kind, code) in known.items():
                self._files[name] = []
                for cpu in cpus:
                    self._files[name].append(_opened(kind, code, cpu))
        except OSError as error:
            self.close()
            absent = error.errno in (errno.ENOENT, errno.ENODEV, errno.EOPNOTSUPP)
            self.why = "no PMU" if absent else f"perf_event_open: {error.strerror}"

    def counts(self) -> dict[str, float]:
        """Return how often each event has happened. Events that share a counter are scaled."""
        return {name: sum(map(_count, files)) for name, files in self._files.items() if files}

    def close(self) -> None:
        """Close the events."""
        for files in self._files.values():
            for file in files:
                os.close(file)
        self._files = {}


def _opened(kind: int, code: int, cpu: int) -> int:
    # The first 64 bytes of struct perf_event_attr, which every kernel accepts.
    attr = struct.pack("<2I5Q2IQ", kind, 64, code, 0, 0, _TIMES, 0, 0, 0, 0)
    libc = ctypes.CDLL(None, use_errno=True)
    call = _SYSCALL[os.uname().machine]
    file = libc.syscall(call, attr, *map(ctypes.c_long, (-1, cpu, -1, _CLOSE)))
    if file < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return int(file)


def _count(file: int) -> float:
    count, enabled, running = struct.unpack("<3Q", os.read(file, 24))
    return count * enabled / running if running else 0.0
