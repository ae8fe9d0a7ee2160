# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What commands save as JSON: its types, and the one place that reads and checks it."""
