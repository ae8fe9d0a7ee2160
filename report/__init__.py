# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""HTML pages of results, and `reproduce`: all that a newcomer should see, from one command."""
