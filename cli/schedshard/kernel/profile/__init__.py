# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cache lines that a kernel's CPUs take from each other, in guests that run a workload."""
