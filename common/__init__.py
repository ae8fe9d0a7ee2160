# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shared by all packages: errors, paths, files, tools, progress, provenance, saved results."""
