# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Kernels from source trees: configuration, compilation, packages, sizes."""
