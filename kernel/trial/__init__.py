# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes one file that boots two kernels in turn, measures both, and writes the result."""
