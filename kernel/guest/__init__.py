# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests: their machine, root file system and programs, and how one boots."""
