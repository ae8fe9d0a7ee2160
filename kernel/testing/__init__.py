# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Tests in guests: which tests run where, how logs are read, and the outcomes."""
