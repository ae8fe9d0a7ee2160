# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Outputs a verdict on a terminal, as JSON, as an HTML page, and for monitoring."""
