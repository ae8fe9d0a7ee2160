# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Machine files and topologies: found, read, listed and drawn."""
