# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Records programs, and reports the lines on which their threads contend, on any machine."""
