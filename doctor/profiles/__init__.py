# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parsers of profiles, from perf and other tools: shares of functions, contended lines."""
