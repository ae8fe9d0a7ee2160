# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Types and fields on cache lines, from a program's debug information."""
