# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The cost of a finding, and the cost with each remedy, from a simulation or a stored table."""
