# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Compares a recording with an earlier one, as a gate of continuous integration."""
