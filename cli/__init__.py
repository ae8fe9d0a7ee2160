# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line: verbs, their options, and one line on stderr for every failure."""
