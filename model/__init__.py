# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The simulated machine: machine files, experiments that run on it, results, and its validation."""
