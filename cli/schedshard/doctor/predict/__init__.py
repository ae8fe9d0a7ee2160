# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The cost of a finding, and what each remedy would leave of it, predicted or stored."""
