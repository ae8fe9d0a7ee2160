# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds out whether RT_PUSH_IPI is on. With it, a CPU asks for real-time work by an interrupt.

Without it the CPU pulls tasks itself. debugfs shows the setting, but only to root. Otherwise the
kernel's default counts: on since 4.2, and off without PREEMPT_RT since 7.3 and the stable releases
below. Distributors add commits of later versions. A kernel built before the date of the commit that
switches RT_PUSH_IPI off cannot contain that commit, so RT_PUSH_IPI is on there. For other kernels
the setting is unknown. (Catalogue: rt-push-ipi.)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from doctor.facts.facts import Facts
from doctor.known.kernels import line_of

_SINCE = (4, 2, 0)
_OFF = (7, 3, 0)
_OFF_STABLE = {(6, 1): 178, (6, 12): 96}
# dd29c017aed6, its author's date: sched/rt: Have RT_PUSH_IPI be default off for non PREEMPT_RT.
_COMMIT = date(2026, 5, 15)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
# As the kernel's build prints it (Tue Mar  5 10:00:00 UTC 2024), or Debian's: (2026-06-01).
_BUILT = re.compile(
    rf"\b({'|'.join(_MONTHS)}) +(\d\d?) \d\d:\d\d:\d\d (?:\w+ )?(\d{{4}})\b", re.ASCII
)
_BUILT_ISO = re.compile(r"\((\d{4})-(\d\d)-(\d\d)\)", re.ASCII)
# Series that were maintained when the default changed: later releases may have the change.
_PERHAPS = {(5, 10), (5, 15), (6, 6), (6, 18), (7, 0), (7, 1), (7, 2)}


@dataclass(frozen=True)
class PushIpi:
    """Whether RT_PUSH_IPI is on (None: unknown), and how that is known."""

    on: bool | None
    why: str


def built(build: str) -> date | None:
    """Return the day on which a kernel was built, or None if its version string lacks it."""
    named, iso = _BUILT.search(build), _BUILT_ISO.search(build)
    try:
        if named is not None:
            return date(int(named[3]), _MONTHS.index(named[1]) + 1, int(named[2]))
        return date(*map(int, iso.groups())) if iso is not None else None
    except ValueError:
        return None


def push_ipi(facts: Facts) -> PushIpi:
    """Return whether RT_PUSH_IPI is on on a host, and how that is known."""
    features = facts.features()
    if features is not None:
        return PushIpi("RT_PUSH_IPI" in features, "debugfs")
    if facts.config.get("PREEMPT_RT") == "y" or facts.settings.get("sys/kernel/realtime") == "1":
        return PushIpi(True, "PREEMPT_RT's default")
    series, patch = facts.version[:2], facts.version[2]
    default = f"the default of {facts.release}"
    if facts.version < _SINCE or facts.version >= _OFF or patch >= _OFF_STABLE.get(series, 1 << 30):
        return PushIpi(False, default)
    day = built(facts.build)
    if day is not None and day < _COMMIT:
        return PushIpi(True, f"{default}, which was built on {day}, before commit dd29c017aed6")
    # For stable series with a known first release the version decides. In distributors' kernels
    # that do not follow such a series, the commit may have been added.
    line = line_of(facts)
    added = line is not None and not (line.follows and series in _OFF_STABLE)
    if series in _PERHAPS or added:
        return PushIpi(None, f"{default} is unknown: this kernel may have commit dd29c017aed6")
    return PushIpi(True, default)
