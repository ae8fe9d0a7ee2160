# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What a recording would cost if some bytes lay elsewhere."""
