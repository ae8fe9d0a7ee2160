# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Doctor: what the shared cache lines of a machine's scheduler cost, and what helps today."""
