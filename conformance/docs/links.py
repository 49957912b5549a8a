#!/usr/bin/env python3
"""Follows every link of the built book that stays in it.

usage: links.py BOOK        BOOK is the folder that mdbook wrote

A link has to lead to a file of the book, and its `#anchor` to an element with that id. Every page below docs/ has to be
in the book: one that docs/SUMMARY.md does not name is not built.
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]


class Page(HTMLParser):
    """The ids of a page and where it leads."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, _tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.ids.add(value)
            elif name in ("href", "src") and value:
                self.links.append((self.getpos()[0], value))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    book = Path(sys.argv[1]).resolve()
    pages = {path: Page(path.read_text()) for path in book.rglob("*.html")}
    findings, followed = [], 0
    for path, page in pages.items():
        for line, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            followed += 1
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                findings.append(f"{path.relative_to(book)}:{line}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                findings.append(f"{path.relative_to(book)}:{line}: {link}: no such anchor")
    for source in (ROOT / "docs").rglob("*.md"):
        name = source.relative_to(ROOT / "docs")
        if name.name != "SUMMARY.md" and not (book / name.with_suffix(".html")).is_file():
            findings.append(f"docs/{name}: not in docs/SUMMARY.md")
    for finding in findings:
        print(finding)
    print(f"{len(pages)} pages, {followed} links followed, {len(findings)} lead nowhere")
    sys.exit(1 if findings or followed == 0 else 0)


main()
