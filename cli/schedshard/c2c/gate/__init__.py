# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A recording compared with an earlier one, as a gate of continuous integration."""
