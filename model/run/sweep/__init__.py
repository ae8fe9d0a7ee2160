# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs every combination of a sweep, keeps the rows in a file, and compares two groups."""
