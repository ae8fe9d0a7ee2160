# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Formats the numbers, tables, plots, pages and pictures of all output."""
