# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The exact recorder: compiled programs run on the simulated machine's own clock."""
