# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Shows many hosts in one table, and compares one host at two times."""
