# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The report of a recording: lines, the sharers of their bytes, remedies, changes."""
