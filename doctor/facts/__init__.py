# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns the collector's lists into facts about a machine's CPUs, cpusets, root domains and load."""
