# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes tables of results, for the terminal and the page."""
