# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""From facts and profiles to findings of the catalogue, and to a verdict."""
