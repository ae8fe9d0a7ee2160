# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What perf's tools wrote, whichever of them: shares of functions, contended lines."""
