# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs tests in guests, reads the guests' logs, and judges the outcomes."""
