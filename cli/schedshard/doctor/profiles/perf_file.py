# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A profile from a file: which of the known texts it is, or perf.data through perf itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from schedshard.common.errors import UserError, os_reason, telling
from schedshard.doctor.profiles.perf_c2c import parse_c2c
from schedshard.doctor.profiles.perf_lkp import parse_lkp
from schedshard.doctor.profiles.perf_report import parse_report
from schedshard.doctor.profiles.perf_script import parse_script
from schedshard.doctor.profiles.profile import Profile

TEXT_LIMIT = 256 << 20
_MAGIC = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
_SECONDS = 300
_ADDRESSES = ("mem-loads", "ldlat", "mem-stores", "ibs_op", "arm_spe")


def parse_text(text: str, source: str) -> Profile | None:
    """Return the profile in a text, or None: its format is unknown."""
    lines = parse_c2c(text)
    lkp = parse_lkp(text)
    if lkp is not None:
        return Profile(source, "a report of the kernel test robot", lkp[0], lkp[1], lines or ())
    if lines is not None:
        return Profile(source, "perf c2c report", lines=lines)
    report = parse_report(text)
    if report is not None:
        return Profile(source, "perf report", *report)
    script = parse_script(text)
    if script is not None:
        return Profile(source, "perf script", *script)
    return None


def _perf(arguments: list[str], path: Path) -> str:
    program = shutil.which("perf")
    if program is None:
        raise UserError(
            f"{path} is a perf.data file and perf is not installed: "
            f"give the text of 'perf report --stdio -i {path}'"
        )
    environment = {**os.environ, "PERF_CONFIG": "/dev/null", "LC_ALL": "C"}
    argv = [program, *arguments, "-i", str(path)]
    try:
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, env=environment
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        reason = os_reason(error) if isinstance(error, OSError) else f"no end in {_SECONDS} s"
        raise UserError(f"perf cannot read {path}: {reason}") from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[0] if said else f"status {done.returncode}"
        raise UserError(f"perf cannot read {path}: {reason}")
    return done.stdout.decode("utf-8", "replace")


def _read_data(path: Path) -> Profile:
    """Let perf report on a perf.data file; with addresses of data, its lines as well."""
    events = _perf(["evlist"], path)
    report = parse_report(_perf(["report", "--stdio", "--no-children", "-g", "none", "-f"], path))
    lines = None
    if any(name in events for name in _ADDRESSES):
        lines = parse_c2c(_perf(["c2c", "report", "--stdio", "-f"], path))
    if report is None and lines is None:
        raise UserError(f"{path} holds no sample that perf reports")
    event, functions = report if report is not None else ("", {})
    return Profile(str(path), "perf.data", event, functions, lines or ())


def read_profile(path: Path) -> Profile:
    """Return the profile in a file; a UserError lists the known formats."""
    if path.exists() and not path.is_file():
        raise UserError(f"cannot read profile {path}: it is no regular file")
    with telling(f"cannot read profile {path}"), path.open("rb") as file:
        data = file.read(8)
        if data in _MAGIC:
            return _read_data(path)
        data += file.read(TEXT_LIMIT + 1 - len(data))
    if len(data) > TEXT_LIMIT:
        raise UserError(
            f"profile {path} is larger than {TEXT_LIMIT >> 20} MiB: "
            "give 'perf report --stdio' instead"
        )
    if b"\0" in data:
        raise UserError(f"profile {path} is no text in UTF-8: save it as UTF-8, or give perf.data")
    profile = parse_text(data.decode("utf-8", "replace").replace("\r\n", "\n"), str(path))
    if profile is None:
        raise UserError(
            f"profile {path} is none that is known: give the text of 'perf report --stdio', "
            "'perf script', 'perf c2c report --stdio', or perf.data"
        )
    return profile
