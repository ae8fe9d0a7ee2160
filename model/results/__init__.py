# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Defines the types of the JSON that commands save, and alone reads and checks that JSON."""
