# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Turns the options of commands into requests, and prints or saves the results."""
