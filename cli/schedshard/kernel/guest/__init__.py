# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests: their machine, their root file system, their programs, and one boot of one."""
