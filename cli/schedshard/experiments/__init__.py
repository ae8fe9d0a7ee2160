# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Experiments: read, run on a simulated machine or on real CPUs, and advice from them."""
