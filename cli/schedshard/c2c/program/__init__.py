# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The program that is recorded: in the emulator, in a guest, and what that costs."""
