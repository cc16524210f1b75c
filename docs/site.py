"""Builds these pages to a static site that opens from disk: `make site` writes site/index.html.

The pages are README.md and what it links, page after page, in this repository. Beside each stand the links of
docs/README.md. Files that a page links are copied.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import sys
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parent.parent
START, CONTENTS = Path("README.md"), Path("docs/README.md")
MARKDOWN = MarkdownIt("commonmark").enable("table")
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · CRAG Explorer</title>
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav><p><a href="{home}">CRAG Explorer</a></p>
{contents}</nav>
<main>
{body}</main>
</body>
</html>
"""


def build(out: Path) -> list[Path]:
    """Writes the site into an empty or new folder; returns its pages."""
    out.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "docs" / "site.css", out / "site.css")
    waiting, written = [START, CONTENTS], dict[Path, Path]()
    while waiting:
        page = waiting.pop()
        if page in written:
            continue
        written[page] = place = out / place_of(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        body, linked = _render(page, place_of(page))
        menu, _ = _render(CONTENTS, place_of(page), titled=False)
        up = Path(os.path.relpath(out, place.parent))
        html = PAGE.format(
            title=escape(_title(page)),
            style=(up / "site.css").as_posix(),
            home=(up / "index.html").as_posix(),
            contents=menu,
            body=body,
        )
        place.write_text(html, encoding="utf-8")
        waiting += [other for other in linked if other.suffix == ".md"]
        for other in (each for each in linked if each.suffix != ".md"):
            (out / other).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / other, out / other)
    return list(written.values())


def place_of(page: Path) -> Path:
    """Where a page lies in the site: README.md is its folder's index.html."""
    return page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")


def anchor(heading: str) -> str:
    """The name of a heading's place, as code hosts make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def _title(page: Path) -> str:
    found = re.search(r"^# (.+)$", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE)
    return found[1] if found else page.stem


def _render(page: Path, place: Path, *, titled: bool = True) -> tuple[str, list[Path]]:
    """A page as HTML whose links lead on from `place` in the site, and the files that it links."""
    linked: list[Path] = []
    text = (ROOT / page).read_text(encoding="utf-8")
    tokens = MARKDOWN.parse(text if titled else text.partition("\n")[2])
    for token, following in itertools.pairwise([*tokens, tokens[-1]]):
        if token.type == "heading_open":
            token.attrSet("id", anchor(following.content))
        for child in token.children or ():
            for name in ("href", "src"):
                if (target := str(child.attrGet(name) or "")) and "://" not in target:
                    child.attrSet(name, _lead(page, target, place, linked))
    return MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}), linked


def _lead(page: Path, target: str, place: Path, linked: list[Path]) -> str:
    path, mark, name = target.partition("#")
    if not path:
        return target
    there = Path(os.path.normpath(page.parent / path))
    if (ROOT / there).is_dir():
        there /= "README.md"
    linked.append(there)
    shown = place_of(there) if there.suffix == ".md" else there
    return Path(os.path.relpath(shown, place.parent)).as_posix() + mark + name


if __name__ == "__main__":
    shutil.rmtree(ROOT / "site", ignore_errors=True)
    sys.stdout.write(f"{len(build(ROOT / 'site'))} pages: site/index.html\n")
