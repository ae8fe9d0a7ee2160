# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The shell script that collects what doctor reads."""
