# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Reads the text of a page, without its plots."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

_VOID = {"meta", "br", "img", "link"}
_CELLS = {"td", "th", "dt"}
_LINES = {"tr", "p", "h1", "h2", "h3", "dd", "li", "caption", "figcaption", "summary", "b"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attrs if name in ("src", "href", "data")]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in _CELLS | _LINES:
            self.words.append(" | " if tag in _CELLS else "\n")

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(re.sub(r"\s+", " ", data))


def read_page(path: Path) -> str:
    """Return the words of a page, a line per row and paragraph; it must need no other file."""
    text = path.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert not re.search(r"@import|<script|<iframe|<link|url\(", text)
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    assert all(link.startswith(("#", "data:image/svg+xml;base64,")) for link in reader.links)
    lines = (line.strip(" |") for line in "".join(reader.words).splitlines())
    return "".join(f"{line}\n" for line in lines if line)
