# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes source trees: unpacks Debian's Linux as the base, and applies the steps of the series."""
