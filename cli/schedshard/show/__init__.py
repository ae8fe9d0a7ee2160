# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How anything looks: numbers, the table on a terminal, plots, pages and pictures."""
