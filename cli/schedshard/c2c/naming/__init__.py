# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The names of a recorded program's addresses: objects, types, places in the source."""
