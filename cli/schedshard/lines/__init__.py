# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Cache lines by the names of what lies on them, from debug information and symbols."""
