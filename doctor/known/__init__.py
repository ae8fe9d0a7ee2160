# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Contains what is known about hot lines and kernels in general."""
