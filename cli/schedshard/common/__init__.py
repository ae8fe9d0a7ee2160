# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What every room uses: errors, paths, files, tools, progress, provenance, saved results."""
