# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Source trees: the base, which is Debian's, and the steps of the series as edits of the base."""
