# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says what the model predicts for a machine like the one that was measured."""
