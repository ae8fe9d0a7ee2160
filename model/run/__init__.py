# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads experiments, runs them on a simulated machine or on real CPUs, and derives advice."""
