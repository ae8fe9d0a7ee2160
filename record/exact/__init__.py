# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Records compiled programs exactly: they run on the simulated machine's own clock."""
