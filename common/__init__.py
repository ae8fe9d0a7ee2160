# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Handles errors, paths, files, tools, progress, provenance and formats for all packages."""
