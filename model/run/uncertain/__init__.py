# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Uncertain inputs: their ranges, samples of them, and intervals of figures."""
