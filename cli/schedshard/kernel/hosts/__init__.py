# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Guests set up as hosts for doctor: its verdict on each, and trials of its plans."""
