# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Parses profiles of perf and other tools into shares of functions, and contended lines."""
