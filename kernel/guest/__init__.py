# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes the machine, root file system and programs of a guest, and boots it."""
