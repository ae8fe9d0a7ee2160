# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Configures and compiles kernels from source trees, and makes packages of them."""
