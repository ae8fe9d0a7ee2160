# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests in guests: which run where, what their log says, and their outcomes."""
