# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Makes text safe that goes to a terminal or a log.

Names come from hosts, programs and files. A name may contain control sequences, characters that
reverse the direction of text, or a line that a CI system takes for a command. All commands print
through SafeStream, which the entry of the command line puts in place of the standard streams. What
this project itself adds, such as colours, goes to trusted().
"""

from __future__ import annotations

import json
import re
from typing import Any, TextIO, cast

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# A command to GitHub's runner begins a line; one of the older form may be anywhere in a line.
_COMMAND = re.compile(r"^([ \t]*):(?=:)|#(?=#\[)", re.MULTILINE)


def safe(text: str) -> str:
    """Return the text with JSON's escapes in place of characters that are not text."""
    shown = _UNSEEN.sub(lambda match: json.dumps(match[0])[1:-1], text)
    return _COMMAND.sub(
        lambda match: f"{match[1]}\\u003a" if match[1] is not None else "\\u0023", shown
    )


class SafeStream:
    """A stream that makes safe what is written to it."""

    def __init__(self, stream: TextIO) -> None:
        self.trusted = stream

    def write(self, text: str) -> int:
        """Write text, safe."""
        return self.trusted.write(safe(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trusted, name)


def safe_stream(stream: TextIO) -> TextIO:
    """Return a stream with the given stream's methods, which makes safe what is written to it."""
    return cast(TextIO, SafeStream(stream))


def trusted(stream: TextIO) -> TextIO:
    """Return the stream behind a safe one, for text that was made by this project."""
    return stream.trusted if isinstance(stream, SafeStream) else stream
