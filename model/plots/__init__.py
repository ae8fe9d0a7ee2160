# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Plots of results for the page."""
