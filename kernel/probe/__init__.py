# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Runs a guest under the emulator's plugin, with watched code, and names objects in its memory."""
