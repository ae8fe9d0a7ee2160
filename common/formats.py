# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Names the formats in which results are saved."""

RUN = "schedshard/run/2"
C2C = "schedshard/c2c/1"
LIVE = "schedshard/live/1"
VALIDATE = "schedshard/validate/1"
