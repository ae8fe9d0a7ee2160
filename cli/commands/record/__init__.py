# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands that record programs and compare recordings."""
