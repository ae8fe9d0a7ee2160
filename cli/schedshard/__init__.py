# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""The command line of schedshard: stages as pure functions over typed requests."""

from schedshard.common.paths import VERSION

__version__ = VERSION
