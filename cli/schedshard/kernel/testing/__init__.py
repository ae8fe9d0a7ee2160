# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests in guests: which run where, how their logs are read, and their outcomes."""
