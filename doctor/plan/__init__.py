# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A plan of cpuset partitions, as one page of commands."""
