# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tables of results, for the terminal and the page."""
