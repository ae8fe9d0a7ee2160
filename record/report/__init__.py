# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The report of a recording: lines, kinds of sharing, causes and remedies."""
