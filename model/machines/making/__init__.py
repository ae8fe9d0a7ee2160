# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes machine files from a published latency table, or by measuring this host."""
