# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The gate of continuous integration: compares a recording with an earlier one."""
