# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The commands: they turn options into requests, and print or save the results."""
