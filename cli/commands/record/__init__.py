# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the commands that record programs and compare recordings."""
