# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What is known of hot lines and of kernels, without looking at a machine."""
