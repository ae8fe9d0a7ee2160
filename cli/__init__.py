# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs the verbs of the command line, and turns every failure into one line on stderr."""
