# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results of experiments as plots for a page."""
