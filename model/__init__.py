# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes machine files, runs experiments on simulated machines, and validates the model."""
