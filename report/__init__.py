# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes HTML pages of results, and by `reproduce` all results that a newcomer should see."""
