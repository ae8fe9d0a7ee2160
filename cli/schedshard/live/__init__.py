# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Single operations on this host's real CPUs, and the model's predictions for them."""
