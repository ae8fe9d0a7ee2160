# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Source trees: the base as Debian has it, and the steps of the series as edits of it."""
