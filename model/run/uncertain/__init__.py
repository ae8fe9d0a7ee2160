# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Draws samples of uncertain inputs from their ranges, and makes intervals of figures."""
