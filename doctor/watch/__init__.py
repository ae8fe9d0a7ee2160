# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Watching this host: rounds of judging it, counters of wake-ups, and a systemd unit."""
