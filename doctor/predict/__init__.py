# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Predicts the cost of a finding, now and with each remedy, by simulation or a stored table."""
