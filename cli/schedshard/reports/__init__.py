# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Results as one HTML page, and everything that a newcomer should see from one command."""
