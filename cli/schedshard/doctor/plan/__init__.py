# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan of cpuset partitions: which, in files and scripts, and in words."""
