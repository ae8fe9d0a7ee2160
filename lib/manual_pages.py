# SPDX-License-Identifier: (MIT OR GPL-2.0-only)
"""Manual pages of section 3 from the comments of the library's public headers.

manual_pages.py VERSION DIRECTORY HEADER...

The program writes to DIRECTORY a page NAME.3 for each function, inline function and macro with a
comment. A page schedshard-HEADER.3 contains the rules for all functions of a header, and its types.
schedshard.3 is for schedshard.h. A comment is kernel-doc, or a few sentences; a member may have its
comment beside it.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

# Functions that only macros and inline functions of the headers call.
PRIVATE = re.compile(
    r"(schedshard_)?(sbm_(iter|chunk|read_shard)\w*|(shard_)?near_wider|(shard_)?summary_mark|visited_enter"
    r"|cpu_counter_(flush|note))"
)
TITLES = {
    "return": "RETURN VALUE",
    "context": "CONTEXT",
    "cost": "COST",
    "ordering": "ORDERING",
    "lines": "CACHE LINES",
}
LABEL = re.compile(
    r"(?:^|(?<=[.?] ))(Return|Context|Cost|Ordering|Lines?(?: touched)?): ", flags=re.M
)
# A comment at the start of a line, and the declaration after it.
ITEM = re.compile(
    r"^/\*(?P<doc>\*?)(?P<text>(?:(?!\*/).)*)\*/\n"
    r"(?:\#ifdef\ __cplusplus\nextern\ \"C\"\ \{\n\#endif\n)?"
    r"(?:(?P<macro>\#define\ (\w+)\([^)]*\))"
    r"|(?P<type>(?:struct|enum)\ \w+)\ \{"
    r"|(?P<function>(?!static_assert)[a-z_](?:(?!/\*)[^;{}#])*?\w\([^;{}#]*?\))(?=\s*[;{]))?",
    flags=re.M | re.S | re.X,
)

# A member of a structure or an enumeration, with its comment on the same line or the one before.
MEMBER = re.compile(
    r"^\t(?:/\* (?P<before>.*) \*/\n\t)?[\w *]*?\b(?P<name>\w+)(?:\[\w*\])?(?: __aligned\(\w+\))?"
    r"(?: = \d+)?[;,](?:\s*/\* (?P<after>.*) \*/)?$",
    flags=re.M,
)


@dataclass
class Item:
    """A function, macro or type with its comment."""

    name: str
    prototype: str  # empty: a type
    short: str
    arguments: dict[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass
class Header:
    """A header: its opening comment and its items."""

    name: str
    short: str
    body: str
    items: list[Item]

    @property
    def page(self) -> str:
        """The name of its page."""
        return "schedshard" if self.name == "schedshard" else f"schedshard-{self.name}"


def plain(comment: str) -> str:
    """Return a comment's text without its stars."""
    lines = [re.sub(r"^\s*\* ?", "", line, count=1) for line in comment.strip("\n").split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip("\n ")


def first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence, without its full stop, and the whole text."""
    flat = " ".join(text.split())
    short = re.split(r"(?<=[.?])(?= [A-Z@])", flat, maxsplit=1)[0].rstrip(".")
    words = short.split(" ", 1)
    if not re.search(r"[A-Z_()].|^[A-Z]$", words[0][1:]):
        words[0] = words[0].lower()
    return " ".join(words), text


def arguments_of(text: str) -> tuple[dict[str, str], str]:
    """Return the @NAME: parts of a text, by name, and the rest of the text."""
    found: dict[str, str] = {}
    rest = []
    name = ""
    for line in text.split("\n"):
        match = re.match(r"@(\w+):\s*(.*)", line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif name and re.match(r"\s+\S", line):
            found[name] += " " + line.strip()
        else:
            name = ""
            rest.append(line)
    return found, "\n".join(rest).strip("\n")


def members_of(match: re.Match[str]) -> dict[str, str]:
    """Return the commented members of the type that follows a comment."""
    inside = match.string[match.end() :].partition("\n}")[0]
    found = {each["name"]: each["before"] or each["after"] for each in MEMBER.finditer(inside)}
    return {name: said for name, said in found.items() if said}


def documented(match: re.Match[str], common: dict[str, str], before: str) -> Item | None:
    """Return the item that a comment describes; None if it describes no single item."""
    text = plain(match["text"])
    prototype = match["macro"] or match["function"] or ""
    if prototype:
        prototype = re.sub(r"^#define |\bstatic |\b(port_always_)?inline ", "", prototype)
        prototype = " ".join(prototype.split())
        name = re.findall(r"(\w+)\(", prototype)[0]
    elif match["type"]:
        name = match["type"]
    else:
        return None
    if match["doc"]:
        head, _, text = text.partition("\n")
        short = head.split(" - ", 1)[1] if " - " in head else head
        arguments, body = arguments_of(text)
        for key, said in arguments.items():
            if said.startswith("see above"):
                arguments[key] = f"{common.get(key, said)}{said.removeprefix('see above')}"
        return Item(name, prototype, short, arguments, body)
    if text.startswith("The same") and before:
        text = text.replace("The same", f"The same as {before}()", 1)
    short, body = first_sentence(text)
    return Item(name, prototype, short, members_of(match) if match["type"] else {}, body)


def parse(path: Path) -> Header:
    """Return a header, parsed from its file."""
    text = path.read_text(encoding="utf-8")
    comments = iter(ITEM.finditer(text))
    next(comments)  # the licence
    opening = plain(next(comments)["text"])
    named = re.match(rf"{re.escape(path.name)} - ", opening)
    if named:
        head, _, opening = opening[named.end() :].partition("\n\n")
        short = first_sentence(head)[0]
        rest = " ".join(head.split())[len(short) :].lstrip(". ")
        opening = f"{rest}\n\n{opening}".strip("\n")
    else:
        short = first_sentence(opening)[0]
    items: list[Item] = []
    common: dict[str, str] = {}
    before = ""
    for match in comments:
        item = documented(match, common, before)
        if item is None:
            common |= arguments_of(plain(match["text"]))[0]
        elif not PRIVATE.fullmatch(item.name.split()[-1]):
            items.append(item)
            before = item.name if item.prototype else before
    return Header(path.stem, short, opening, items)


def escaped(text: str) -> str:
    """Return text escaped for troff, which then prints it as it is."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = text.replace("`", "\\(ga").replace("~", "\\(ti").replace("^", "\\(ha")
    return re.sub(r"(?m)^\.", r"\\&.", text)


def marked(text: str) -> str:
    """Return a sentence with its @arguments in italics and its functions in bold."""
    text = escaped(" ".join(text.split()))
    if not text.startswith("@") and not re.match(r"\w*([_()>\[]|\.\w)", text):
        text = text[:1].upper() + text[1:]
    text = re.sub(r"@(\w+)", r"\\fI\1\\fR", text)
    text = re.sub(r"%(?=[A-Z])", "", text)
    return re.sub(r"\b([a-z]\w*)\(\)", r"\\fB\1\\fR()", text)


def paragraphs(text: str) -> list[str]:
    """Return the lines of several paragraphs; tables, lists and code keep their lines."""
    lines: list[str] = []
    for part in re.split(r"\n[ \t]*\n", text.strip("\n")):
        if not part.strip():
            continue
        lines += [".PP"] if lines else []
        rows = [
            (re.match(r"\s{2,}|\t| ?[-*] | ?\d+\. ", row) is not None) for row in part.split("\n")
        ]
        if not any(rows):
            lines.append(marked(part))
            continue
        before = rows.index(True)
        split = part.split("\n")
        if before:
            lines += [marked(" ".join(split[:before])), ".PP"]
        code = textwrap.dedent("\n".join(split[before:]).expandtabs(8))
        lines += [".RS 4", ".nf", *(escaped(row) for row in code.split("\n")), ".fi", ".RE"]
    return lines


def sections(text: str) -> tuple[str, dict[str, str]]:
    """Return a body without its labelled sentences, and the labelled ones by title."""
    parts = LABEL.split(text)
    found: dict[str, str] = {}
    for label, said in zip(parts[1::2], parts[2::2], strict=True):
        title = TITLES["lines" if label.startswith("Line") else label.lower()]
        # What follows the labelled paragraph is description again.
        own, _, more = said.partition("\n\n")
        parts[0] += f"\n\n{more}" if more else ""
        found[title] = f"{found.get(title, '')} {own.strip()}".strip()
    return parts[0].strip(), found


def parameters(prototype: str) -> list[tuple[str, str]]:
    """Return the name of each parameter, empty for void, and its declaration."""
    parts = [""]
    depth = 0
    for char in prototype.partition("(")[2][:-1]:
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    found = []
    for part in map(str.strip, parts):
        match = re.search(r"\(\*(\w+)\)" if "(*" in part else r"(\w+)$", part)
        found.append((match[1] if match and part != "void" else "", part))
    return found


def synopsis(prototype: str) -> list[str]:
    """Return a prototype with its arguments in italics, folded."""
    head = escaped(prototype.partition("(")[0])
    shown = []
    for name, part in parameters(prototype):
        last = rf"\b{name}\b(?!.*\b{name}\b)"
        shown.append(re.sub(last, rf"\\fI{name}\\fB", escaped(part)) if name else part)
    spaced = [f"{head}({shown[0]}", *shown[1:]]
    lines = [f"\\fB{', '.join(spaced)});\\fR"]
    if len(re.sub(r"\\f.", "", lines[0])) > 78:
        lines = [f"\\fB{spaced[0]},\\fR", *(f"\\fB    {each},\\fR" for each in spaced[1:])]
        lines[-1] = lines[-1].removesuffix(",\\fR") + ");\\fR"
    return lines if "for_each" not in head else [line.replace(");", ")") for line in lines]


def faults(header: Header) -> list[str]:
    """Return a line for each comment whose arguments differ from those of its function."""
    found = []
    for item in header.items:
        names = [name for name, _ in parameters(item.prototype) if name]
        if item.arguments and item.prototype and list(item.arguments) != names:
            found.append(f"{header.name}.h: {item.name}() has {names}, not {[*item.arguments]}")
    return found


def top(name: str, version: str, short: str) -> list[str]:
    """Return the first lines of a page."""
    return [
        '.\\" SPDX-License-Identifier: (MIT OR GPL-2.0-only)',
        f'.TH "{name}" "3" "" "schedshard {version}" "Library Functions Manual"',
        ".nh",
        ".ad l",
        ".SH NAME",
        f"{escaped(name)} \\- {escaped(re.sub('@', '', short))}",
    ]


def include() -> list[str]:
    """Return the lines that every synopsis contains."""
    return [".SH SYNOPSIS", ".nf", "\\fB#include <schedshard/schedshard.h>\\fR"]


def definitions(arguments: dict[str, str]) -> list[str]:
    """Return the lines of a list of arguments or members."""
    lines = []
    for name, said in arguments.items():
        lines += [".TP", f"\\fI{escaped(name)}\\fR", marked(said) or "\\&"]
    return lines


def item_page(item: Item, header: Header, version: str) -> list[str]:
    """Return the page of a function or macro."""
    body, labelled = sections(item.body)
    lines = [*top(item.name, version, item.short), *include(), ".PP"]
    lines += [*synopsis(item.prototype), ".fi"]
    if item.arguments:
        lines += [".SH ARGUMENTS", *definitions(item.arguments)]
    if body and " ".join(body.split()).rstrip(".").lower() != item.short.lower():
        lines += [".SH DESCRIPTION", *paragraphs(body)]
    for title in TITLES.values():
        if title in labelled:
            lines += [f".SH {title}", marked(labelled[title])]
    near = [each.name for each in header.items if each.prototype and each is not item]
    lines += [".SH SEE ALSO", f"\\fB{escaped(header.page)}\\fR(3)" + (":" if near else "")]
    lines += ["what may run at the same time, and what holds for all of"] if near else []
    lines += [",\n".join(f"\\fB{name}\\fR(3)" for name in near)] if near else []
    return lines


def header_page(header: Header, version: str, others: list[str]) -> list[str]:
    """Return the page of a header."""
    lines = [*top(header.page, version, header.short), *include(), ".fi", ".SH DESCRIPTION"]
    lines += paragraphs(header.body) or [marked(header.short) + "."]
    functions = [item for item in header.items if item.prototype]
    types = [item for item in header.items if not item.prototype]
    if functions:
        lines.append(".SH FUNCTIONS")
        for item in functions:
            lines += [".TP", f"\\fB{escaped(item.name)}\\fR(3)", marked(item.short)]
    if types:
        lines.append(".SH TYPES")
        for item in types:
            lines += [
                f'.SS "{escaped(item.name)}"',
                *(paragraphs(item.body) or [marked(item.short)]),
            ]
            lines += definitions(item.arguments)
    lines += [".SH SEE ALSO", ",\n".join(f"\\fB{escaped(name)}\\fR(3)" for name in others)]
    return lines


def main(version: str, directory: Path, paths: list[Path]) -> int:
    """Write all pages; return their number."""
    headers = sorted((parse(path) for path in paths), key=lambda header: header.name)
    wrong = [fault for header in headers for fault in faults(header)]
    if wrong:
        sys.exit("\n".join(wrong))
    pages = {}
    for header in headers:
        others = [each.page for each in headers if each is not header]
        if header.name != "schedshard":
            others = ["schedshard"]
        pages[header.page] = header_page(header, version, others)
        for item in header.items:
            if item.prototype:
                pages[item.name] = item_page(item, header, version)
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    for name, lines in pages.items():
        (directory / f"{name}.3").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(pages)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), [Path(name) for name in sys.argv[3:]])
