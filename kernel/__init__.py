# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The Linux kernel: its source, the series, builds, guests, their tests and their profiles."""
