# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Make machine files: from a published latency table, or by measuring this host."""
