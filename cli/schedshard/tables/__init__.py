# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results of experiments as tables: on a terminal and for a page."""
