# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Starts schedshard-doctor, which has only the command doctor (scripts/doctor_alone.py)."""

from __future__ import annotations

import sys

import click

from cli.commands.doctor import doctor
from cli.entry import run, unwind_at_signals
from common.paths import PROGRAM, VERSION


def start() -> None:
    """Run the command line, and end with its status."""
    unwind_at_signals()
    doctor.context_settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
    version = click.version_option(VERSION, message=f"{PROGRAM} %(version)s")
    sys.exit(run(verbs=version(doctor)))
