# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The types of the JSON that commands save, and the one place that reads and checks it."""
