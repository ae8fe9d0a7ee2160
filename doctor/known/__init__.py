# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What is known about hot lines and kernels in general."""
