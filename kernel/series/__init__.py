# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Writes the steps of the series as patches for a mailing list, and checks them."""
