# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The collector's data of a machine, checked and typed: CPUs, cpusets, root domains, load."""
