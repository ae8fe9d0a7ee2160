# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Says what shared cache lines of a machine's scheduler cost, and which remedies exist today."""
