# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Recording of programs: which lines their threads contend on, on machines of choice."""
