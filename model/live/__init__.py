# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measures single operations on this host's CPUs, and compares them with predictions."""
