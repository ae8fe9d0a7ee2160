# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The trial of two kernels: one file that boots, measures both in turn, and writes the result."""
