# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names what lies on cache lines, from debug information and symbols."""
