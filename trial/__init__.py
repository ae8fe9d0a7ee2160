# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Measures a machine in minutes, and compares predictions with the measurement."""
