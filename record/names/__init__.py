# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names the objects, types and source lines at the addresses of a recorded program."""
