# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the cache lines that CPUs of a kernel contend on, in guests that run a workload."""
