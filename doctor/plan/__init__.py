# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes a plan of cpuset partitions, which is one page of commands, and applies it."""
