# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the recorded program in the emulator or in a guest, and measures what recording costs."""
