# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns facts and profiles into findings of the catalogue, and these into a verdict."""
