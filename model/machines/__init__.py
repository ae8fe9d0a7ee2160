# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Finds, reads, lists and draws machine files and topologies."""
