# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads a profile from a file: a text, or perf.data by means of perf."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from common.errors import UserError, os_reason, telling
from common.inputs import open_input
from doctor.profiles.known import looks_like, parse_text
from doctor.profiles.perf_c2c import parse_c2c
from doctor.profiles.perf_table import parse_table
from doctor.profiles.plain import lines_of
from doctor.profiles.profile import Profile, Sampled, profile_of

TEXT_LIMIT = 256 << 20
_MAGIC = (b"PERFILE2", b"2ELIFREP", b"PERFFILE")
_PACKED = {b"\x1f\x8b": "gzip", b"\xfd7zXZ": "xz", b"(\xb5/\xfd": "zstd", b"BZh": "bzip2"}
_SECONDS = 300
_ADDRESSES = ("mem-loads", "ldlat", "mem-stores", "ibs_op", "arm_spe")


def _perf(arguments: list[str], path: Path) -> str:
    program = shutil.which("perf")
    if program is None:
        raise UserError(
            f"{path} is a perf.data file, but perf is not installed: "
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
        errors = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = errors[0] if errors else f"status {done.returncode}"
        raise UserError(f"perf cannot read {path}: {reason}")
    return done.stdout.decode("utf-8", "replace")


def _read_data(path: Path) -> Profile:
    """Return the profile in a perf.data file, with contended lines if it has data addresses."""
    source = str(path)
    events = _perf(["evlist"], path)
    report = _perf(["report", "--header", "--stdio", "--no-children", "-g", "none", "-f"], path)
    sampled = parse_table(lines_of(report), source)
    c2c = None
    if any(name in events for name in _ADDRESSES):
        c2c = parse_c2c(lines_of(_perf(["c2c", "report", "--stdio", "-f"], path)), source)
    if sampled is None and c2c is None:
        raise UserError(f"{path} holds no sample that perf reports")
    sampled = (
        replace(sampled, kind="perf.data") if sampled is not None else Sampled("perf.data", ())
    )
    return profile_of(sampled, source, c2c.lines if c2c is not None else ())


def read_profile(path: Path) -> Profile:
    """Return the profile in a file. For an unknown format the UserError lists the known ones."""
    with open_input(path, "profile", sys.maxsize) as file, telling(f"cannot read profile {path}"):
        data = file.read(8)
        if data in _MAGIC:
            return _read_data(path)
        data += file.read(TEXT_LIMIT + 1 - len(data))
    if len(data) > TEXT_LIMIT:
        raise UserError(
            f"profile {path} is larger than {TEXT_LIMIT >> 20} MiB: "
            "give 'perf report --stdio' instead"
        )
    for magic, name in _PACKED.items():
        if data.startswith(magic):
            raise UserError(f"profile {path} is packed by {name}: unpack it first")
    if b"\0" in data:
        raise UserError(f"profile {path} is not text in UTF-8: save it as UTF-8, or give perf.data")
    text = data.decode("utf-8", "replace")
    del data
    profile = parse_text(text, str(path))
    if profile is None:
        known = (
            "give the text of 'perf report --stdio', 'perf top --stdio', 'perf script', "
            "'perf diff' or 'perf c2c report --stdio', folded stacks, a map of "
            "bpftrace, or perf.data"
        )
        looks = looks_like(text)
        reason = f"has no known format: it {looks}" if looks else "has no known format"
        raise UserError(
            f"profile {path} {reason}; {known}" if looks else f"profile {path} {reason}: {known}"
        )
    return profile
