# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Derives intervals of shares, and reasons for doubt, from a profile's number of samples."""

from __future__ import annotations

import math

from doctor.profiles.profile import Profile

# With fewer samples no share is compared with the catalogue: of 500, a share of 1% is 5 +- 4.
LEAST = 500
_Z = 1.96  # 95%
# From this share on, kernel functions without names may hide one of the catalogue's.
_NAMELESS = 0.01
# If the rows cover less than this share of the samples, hot functions may be missing.
_EXCERPT = 0.75


def interval(share: float, samples: int | None) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share, or the share twice if ``samples`` is None."""
    if samples is None:
        return share, share
    if samples <= 0:
        return 0.0, 1.0
    share = min(max(share, 0.0), 1.0)
    square = _Z * _Z / samples
    centre = (share + square / 2) / (1 + square)
    half = _Z * math.sqrt(share * (1 - share) / samples + square / (4 * samples)) / (1 + square)
    return max(centre - half, 0.0), min(centre + half, 1.0)


def mute(profile: Profile) -> str:
    """Return why the shares of a profile cannot give a finding, or "" if they can."""
    if profile.samples is not None and profile.samples < LEAST:
        return f"{profile.samples:,} samples are too few: at least {LEAST} are needed"
    if profile.alone and not profile.everything:
        return (
            f"all samples are of one process, {profile.alone}, which says nothing about the "
            "machine: sample all CPUs (perf record -a)"
        )
    return ""


def mute_lines(profile: Profile) -> str:
    """Return why the lines of a profile cannot give a finding, or "" if they can."""
    hits = sum(line.remote + line.local for line in profile.lines)
    if profile.lines and hits < LEAST:
        return f"{hits:,} loads from other caches are too few: at least {LEAST} are needed"
    return ""


def excerpt(profile: Profile) -> bool:
    """Whether a profile is a part of a table of functions."""
    part = profile.cut or profile.covered < _EXCERPT
    return bool(profile.functions) and not profile.lines and part


def doubts_of(profile: Profile) -> list[str]:
    """Return the reasons why a profile may hide something."""
    doubts = []
    if profile.nameless >= _NAMELESS:
        doubts.append(
            f"{profile.nameless:.1%} of all samples are in functions of the kernel without names: "
            "report on the machine of the profile, as root after 'sysctl kernel.kptr_restrict=0', "
            "or with its kernel's symbols ('perf report --stdio -k VMLINUX')"
        )
    if excerpt(profile):
        cut = "its last row is cut, and " if profile.cut else ""
        doubts.append(
            f"{cut}its rows cover {profile.covered:.1%} of all samples: the rest may be hot"
        )
    return [f"{profile.source}: {doubt}" for doubt in doubts]
