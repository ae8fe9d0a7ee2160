# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The look of all output: numbers, tables on a terminal, plots, pages and pictures."""
