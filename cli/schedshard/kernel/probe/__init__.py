# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""A guest under the emulator's plugin: its watched code, and the objects of its memory."""
