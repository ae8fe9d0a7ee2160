# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Look at this host again and again."""
