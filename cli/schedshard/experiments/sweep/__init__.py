# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Many runs: every combination of a sweep, its file, and two groups compared."""
