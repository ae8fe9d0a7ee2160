# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Whether a CPU that looks for real-time work asks by an interrupt (RT_PUSH_IPI) or pulls itself.

debugfs says it, which only root may read. Else it is the kernel's default: on since 4.2, and off
without PREEMPT_RT since 7.3 and the stable releases below. Of other stable series it is unknown.
(Catalogue: rt-push-ipi.)
"""

from __future__ import annotations

from dataclasses import dataclass

from schedshard.doctor.facts.facts import Facts

_SINCE = (4, 2, 0)
_OFF = (7, 3, 0)
_OFF_STABLE = {(6, 1): 178, (6, 12): 96}
# Series that were maintained when the default changed, so that a release of them may have it.
_PERHAPS = {(5, 10), (5, 15), (6, 6), (6, 18), (7, 0), (7, 1), (7, 2)}


@dataclass(frozen=True)
class PushIpi:
    """Whether it is on, None: unknown; and how that is known."""

    on: bool | None
    why: str


def push_ipi(facts: Facts) -> PushIpi:
    """Return the setting of a host."""
    features = facts.features()
    if features is not None:
        return PushIpi("RT_PUSH_IPI" in features, "debugfs")
    if facts.config.get("PREEMPT_RT") == "y" or facts.settings.get("sys/kernel/realtime") == "1":
        return PushIpi(True, "PREEMPT_RT's default")
    series, patch = facts.version[:2], facts.version[2]
    if facts.version < _SINCE or facts.version >= _OFF or patch >= _OFF_STABLE.get(series, 1 << 30):
        return PushIpi(False, f"the default of {facts.release}")
    if series in _PERHAPS:
        return PushIpi(None, f"the default of {facts.release} is unknown")
    return PushIpi(True, f"the default of {facts.release}")
