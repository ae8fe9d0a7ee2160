# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The steps as patches for a mailing list, and the proof that they are right."""
