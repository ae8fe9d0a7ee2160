# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names the addresses of a recorded program: objects, types, places in the source."""
