# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Doctor: the cost of the shared cache lines of a machine's scheduler, and today's remedies."""
