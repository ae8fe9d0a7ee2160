# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The Linux kernel: base, series, builds and packages, one module a stage.

A stage is a function of a typed request; it raises UserError with one line, or leaves its result
whole. Where things lie is in layout.py and nowhere else.
"""
