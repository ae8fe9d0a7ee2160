# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Programs that were compiled to run on the simulated machine's own clock."""
