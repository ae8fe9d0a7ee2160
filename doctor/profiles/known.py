# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the format of a profile's text, and names formats that doctor cannot use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Protocol

from doctor.profiles.perf_c2c import parse_c2c
from doctor.profiles.perf_script import parse_script
from doctor.profiles.perf_table import parse_table
from doctor.profiles.plain import lines_of
from doctor.profiles.profile import Profile, Sampled, profile_of
from doctor.profiles.stacks import parse_bpftrace, parse_folded


class _Parser(Protocol):
    def __call__(self, lines: Iterable[str], source: str, /) -> Sampled | None: ...


# The stricter a parser is, the earlier it is tried.
_PARSERS: tuple[_Parser, ...] = (
    parse_table, parse_bpftrace, parse_folded, parse_script,
)  # fmt: skip
# Texts that people mistake for profiles: what they look like, and what they lack.
_OTHERS = (
    (r"Performance counter stats for", "perf stat", "column of functions"),
    (r"Percent\s*\|\s*Source code & Disassembly", "perf annotate", "shares of other functions"),
    (r"^\s*Task\s+\|\s+Runtime ms", "perf sched latency", "column of functions"),
    (r"contended\s+total wait|acquired\s+contended", "perf lock", "shares of CPU time"),
    (r"^\s*<\?xml|<svg\b|<title>.*samples", "a flame graph as SVG", "folded stacks: give those"),
    (r"flat\s+flat%\s+sum%\s+cum", "pprof", "functions of the kernel"),
    (r"^\s*%\s+cumulative\s+self", "gprof", "functions of the kernel"),
    (r"^top - [0-9]|PID\s+USER\s+PR\s+NI", "top", "column of functions"),
    (r"^\S+\s+\[[0-9]+\].*[0-9]+\.[0-9]+: sched_", "a trace of events", "samples of time"),
)
# The first lines, at most this many, usually show the format. Then only the parser that recognises
# it reads a large text completely.
_LOOK = 4000


def _sampled(text: str, source: str) -> Sampled | None:
    """Return the result of the first parser that recognises the text, by its start if possible."""
    start = list(islice(lines_of(text), _LOOK))
    whole = text.count("\n") < _LOOK
    for parser in _PARSERS:
        sampled = parser(start, source)
        if sampled is not None:
            return sampled if whole else parser(lines_of(text), source)
    for parser in () if whole else _PARSERS:
        sampled = parser(lines_of(text), source)
        if sampled is not None:
            return sampled
    return None


def parse_text(text: str, source: str) -> Profile | None:
    """Return the profile in a text, or None if its format is unknown."""
    if "0x" in text or "HITM" in text or "Hitm" in text:
        c2c = parse_c2c(lines_of(text), source)
        if c2c is not None:
            # A mail may contain a profile beside the tables of perf c2c.
            sampled = _sampled("\n".join(c2c.rest), source)
            if sampled is None:
                return Profile(source, "perf c2c report", lines=c2c.lines)
            return profile_of(sampled, source, c2c.lines)
    sampled = _sampled(text, source)
    if sampled is None:
        return None
    profile = profile_of(sampled, source)
    last = text[text.rfind("\n") + 1 :]
    return replace(profile, cut=profile.covered < 1 and bool(last.strip()))


def looks_like(text: str) -> str:
    """Return what an unknown text looks like, as part of a sentence, or ""."""
    start = text[:65536]
    for pattern, name, lacking in _OTHERS:
        if re.search(pattern, start, re.MULTILINE):
            return f"looks like {name}, but has no {lacking}"
    if re.search(r"^\s*[0-9]+[.,][0-9]+\s?%", start, re.MULTILINE):
        return "looks like perf report, but has no column 'Symbol' with marks such as [k]"
    return ""
