# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Patches, builds, tests and profiles the Linux kernel."""
