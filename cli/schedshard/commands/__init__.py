# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The verbs of the command line: options to requests, results to the terminal or a file."""
