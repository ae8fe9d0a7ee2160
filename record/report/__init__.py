# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reports the lines of a recording, with their kinds of sharing, causes and remedies."""
