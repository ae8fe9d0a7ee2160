# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""How a verdict leaves: on a terminal, as data, as a page, for programs that watch."""
