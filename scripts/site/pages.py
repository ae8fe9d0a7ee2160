# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""What MkDocs needs to make a site of the repository's own pages; it is a hook of mkdocs.yml.

Pages outside of docs/ become pages of the site. Links are those of the repository, so that they
work in a checkout as well. A link to a file that is not a page leads to a copy of that file in the
site. A link that leads nowhere is a warning, and with --strict an error.
"""

from __future__ import annotations

import logging
import posixpath
import re
import subprocess
from pathlib import Path

from commands import commands
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs/"
COMMANDS = "reference/commands.md"
FIXED = {"README.md": "index.md", "docs/README.md": "documents.md"}
_FENCE = re.compile(r"(?ms)^([ ]*)(```+).*?^\1\2[ ]*$")
_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_log = logging.getLogger("mkdocs.hooks.pages")


def tracked() -> frozenset[str]:
    """Return the files of the repository, tracked or about to be."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return frozenset(name for name in listing.stdout.split("\0") if name)


def page_of(path: str) -> str:
    """Return the site's name for a page of the repository."""
    if path in FIXED:
        return FIXED[path]
    name = path.removeprefix(DOCS)
    return re.sub(r"(^|/)README\.md$", r"\1index.md", name)


def source_of(page: str, files: frozenset[str]) -> str:
    """Return the repository's name for a page of the site."""
    return next((path for path in files if path.endswith(".md") and page_of(path) == page), page)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside of docs/ and the reference of the commands."""
    for path in sorted(tracked()):
        if path.endswith(".md") and (not path.startswith(DOCS) or path in FIXED):
            name = page_of(path)
            made = File.generated(config, name, abs_src_path=str(ROOT / path))
            files.append(made)
    files.append(File.generated(config, COMMANDS, content=commands()))
    return files


class Links:
    """The links of one page, in the site's form."""

    def __init__(self, page: Page, config: MkDocsConfig, files: Files) -> None:
        self.known = tracked()
        self.page = page.file.src_uri
        self.source = source_of(self.page, self.known)
        self.config = config
        self.files = files

    def copied(self, path: str) -> str:
        """Return the site's copy of a file of the repository that is not a page."""
        if path.startswith(DOCS):
            there = self.files.get_file_from_path(path.removeprefix(DOCS))
            if there is not None and there.inclusion.name in (
                "INCLUDED",
                "NOT_IN_NAV",
                "UNDEFINED",
            ):
                return there.src_uri
        name = f"source/{path}.txt"
        if self.files.get_file_from_path(name) is None:
            made = File.generated(self.config, name, abs_src_path=str(ROOT / path))
            self.files.append(made)
        return name

    def link(self, match: re.Match[str]) -> str:
        """Return a link in the site's form."""
        picture, text, target = match.groups()
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        path, hash_, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self.source), path))
        if path in self.known and path.endswith(".md"):
            name = page_of(path)
        elif path in self.known:
            name = self.copied(path)
        elif any(file.startswith(f"{path}/") for file in self.known):
            return text  # a folder is nothing that a site can show
        else:
            _log.warning("%s: no file %s for the link %r", self.source, path, text)
            return match[0]
        here = posixpath.dirname(self.page) or "."
        return f"{picture}[{text}]({posixpath.relpath(name, here)}{hash_}{anchor})"


def in_prose(text: str, change: Links) -> str:
    """Change the links of prose. A code span may be the text of a link, but holds none."""
    spans: list[str] = []

    def keep(match: re.Match[str]) -> str:
        spans.append(match[0])
        return f"\0{len(spans) - 1}\0"

    def put_back(match: re.Match[str]) -> str:
        return spans[int(match[1])]

    return re.sub(r"\0(\d+)\0", put_back, _LINK.sub(change.link, _SPAN.sub(keep, text)))


def outside_code(text: str, change: Links) -> str:
    """Change the links of a page; code stays as it is."""
    done, at = [], 0
    for fence in _FENCE.finditer(text):
        done += [in_prose(text[at : fence.start()], change), fence[0]]
        at = fence.end()
    return "".join([*done, in_prose(text[at:], change)])


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Give the links of a page their places in the site."""
    return outside_code(markdown, Links(page, config, files))
