# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes and runs the shell script that collects what doctor reads."""
