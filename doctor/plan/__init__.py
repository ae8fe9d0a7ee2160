# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan of cpuset partitions: its choice, its files and scripts, and its text."""
