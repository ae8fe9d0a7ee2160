# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Many hosts in one table, and one host at two times."""
