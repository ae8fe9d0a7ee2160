# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds the types and fields on cache lines in a program's debug information."""
