"""Makes samples/web: readable pages from public-domain PDFs, their words unchanged.

    python samples/build.py FOLDER

FOLDER holds the source PDFs named in `REPORTS` and `ACCIDENTS`. Only layout is removed: line breaks, running
footers, page counters. Run again, it writes the same bytes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import pypdfium2

__all__ = ["Excerpt", "main", "page_texts"]

WEB = Path(__file__).resolve().parent / "web"
REPORT = "us-agency-annual-performance-report-2017.pdf"
OPM = "United States Office of Personnel Management"
NTSB = "National Transportation Safety Board"

_FOOTER = re.compile(r"^(?:OPM Fiscal Year \d{4} Annual Performance Report \d+|\d+|Page \d+ of \d+.*)$")
_BULLET = re.compile(r"^(?:•|\(\d+\)|\d+\.\s)")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The text of pages [first, last] from the line that begins with `start` up to the one with `stop`, if given."""

    name: str
    title: str
    first: int
    last: int
    start: str = ""
    stop: str = ""


REPORTS = (
    Excerpt("opm-2017-message-from-the-acting-director", "Message from the Acting Director, fiscal year 2017", 5, 6),
    Excerpt("opm-2017-overview", "OPM overview: history and profile, fiscal year 2017", 7, 7),
    Excerpt(
        "opm-2017-retirement-case-processing",
        "Retirement case processing in fiscal year 2017",
        57,
        57,
        "Goal Statement",
    ),
    Excerpt(
        "opm-2017-retirement-claims-challenge",
        "Retirement claims processing: a major management challenge, fiscal year 2017",
        90,
        90,
        "Summary of Challenge",
    ),
    Excerpt(
        "opm-2017-background-investigations",
        "Background investigations: timeliness and quality, fiscal year 2017",
        58,
        59,
        "Goal Statement",
        "NBIB further",
    ),
    Excerpt("opm-2017-skills-gaps", "Closing skills gaps, fiscal year 2017", 76, 76, "Summary of Challenge"),
)

ACCIDENTS = (
    "ntsb-20071229X02007.pdf",
    "ntsb-20080102X00002.pdf",
    "ntsb-20080104X00020.pdf",
    "ntsb-20080111X00040.pdf",
    "ntsb-20080122X00080.pdf",
)


def page_texts(path: Path) -> list[str]:
    """The text of every page, in order; a hyphen at a line's end is one character, the break after it gone."""
    document = pypdfium2.PdfDocument(path)
    try:
        texts = []
        for number in range(len(document)):
            text = document[number].get_textpage().get_text_range().replace("\r\n", "\n")
            texts.append(re.sub(r"[\ufffe\u00ad]\n?", "-", text).replace("\t", " "))
        return texts
    finally:
        document.close()


def main(folder: Path) -> None:
    """Writes every page. Raises FileNotFoundError where a source PDF is missing."""
    WEB.mkdir(parents=True, exist_ok=True)
    report = page_texts(folder / REPORT)
    for excerpt in REPORTS:
        lines = [line for text in report[excerpt.first - 1 : excerpt.last] for line in _lines(text)]
        _write_report(excerpt, _between(lines, excerpt.start, excerpt.stop))
    for name in ACCIDENTS:
        _write_accident(name, [line for text in page_texts(folder / name) for line in _lines(text)])


def _lines(text: str) -> list[str]:
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return [line for line in lines if line and not _FOOTER.match(line)]


def _between(lines: Sequence[str], start: str, stop: str = "") -> list[str]:
    first = next(place for place, line in enumerate(lines) if line.startswith(start))
    after = (place for place, line in enumerate(lines) if stop and place > first and line.startswith(stop))
    return list(lines[first : next(after, len(lines))])


def _paragraphs(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """("h2" | "li" | "p", text): a heading in capitals, a list item, or lines joined up to a short last one."""
    width = max((len(line) for line in lines), default=0)
    kind, held = "p", ""
    for line in lines:
        heading = _is_heading(line)
        if held and (heading or _BULLET.match(line) or (kind == "h2") != heading):
            yield kind, held
            kind, held = "p", ""
        if not held:
            kind = "h2" if heading else "li" if _BULLET.match(line) else "p"
        held = f"{held} {line}".strip()
        if kind != "h2" and line.endswith((".", ":")) and len(line) < 0.8 * width:
            yield kind, held
            kind, held = "p", ""
    if held:
        yield kind, held


def _blocks(lines: Sequence[str]) -> list[str]:
    """Paragraphs, headings and lists as HTML."""
    found: list[str] = []
    items: list[str] = []
    for kind, text in [*_paragraphs(lines), ("", "")]:
        if kind == "li":
            items.append(re.sub(r"^•\s*", "", text))
            continue
        found += [_listed(items)] if items else []
        items = []
        found += [f"<{kind}>{escape(text, quote=False)}</{kind}>"] if kind else []
    return found


def _facts(lines: Sequence[str]) -> list[str]:
    """Labelled lines with what they go on with; without section titles, empty ones and private owners' names."""
    found: list[str] = []
    for line in lines:
        if ":" in line:
            found.append(line)
        elif found and not line.endswith(("Information", "Flight Plan")):
            found[-1] = f"{found[-1]} {line}"
    owners = ("Registered Owner:", "Operator:")
    return [line for line in found if not re.search(r":[\s/]*$", line) and not line.startswith((*owners, "Held:"))]


def _is_heading(line: str) -> bool:
    named = line in ("Summary of Challenge", "FY 2017 Progress Update")
    return named or (line.isupper() and len(line) > 4 and not line.endswith("."))


def _write_report(excerpt: Excerpt, lines: Sequence[str]) -> None:
    where = f"page {excerpt.first}" if excerpt.first == excerpt.last else f"pages {excerpt.first} to {excerpt.last}"
    source = f"Annual Performance Report, Fiscal Year 2017, {where}"
    body = _blocks(lines)
    _write(excerpt.name, f"{excerpt.title} | {OPM}", OPM, source, "2018-02", body)


def _write_accident(name: str, lines: Sequence[str]) -> None:
    """Narrative and cause as paragraphs, the facts as the report's own labelled lines."""
    kind = next(line for line in lines if line.startswith("Aviation Accident"))
    number = _value(lines, "Accident Number:")
    place = _value(lines, "Location:").split(" Accident Number")[0]
    aircraft = _value(lines, "Aircraft:").split(" Aircraft Damage")[0]
    dated = re.search(r"Report Date: (\d\d)/(\d\d)/(\d{4})", "\n".join(lines))
    published = f"{dated.group(3)}-{dated.group(1)}-{dated.group(2)}" if dated else ""
    head = _between(lines, "Location:", "Flight Conducted Under:")
    under = next(line for line in lines if line.startswith("Flight Conducted Under:"))
    story = lines[lines.index(under) + 1 :]
    stop = next(place for place, line in enumerate(story) if re.match(r"Factual Information|Pilot Information", line))
    body = [_listed([*head, under])]
    causes = ("Analysis", "Probable Cause and Findings", "Findings")
    held: list[str] = []
    for line in [*story[:stop], "Findings"]:
        if line in causes:
            body += _blocks(held)
            body += [f"<h2>{line}</h2>"] if line != "Findings" else []
            held = []
        elif line.startswith("Occurrence #"):
            break
        else:
            held.append(line)
    facts = story[stop:]
    ends = (place for place, line in enumerate(facts) if line.startswith(("Note:", "Investigation Docket")))
    facts = facts[: next(ends, len(facts))]
    body += ["<h2>Facts</h2>", _listed(_facts(facts))]
    title = f"{kind}: {aircraft}, {place} ({number}) | {NTSB}"
    _write(f"ntsb-{number.lower()}", title, NTSB, f"{kind} {number}", published, body)


def _value(lines: Sequence[str], label: str) -> str:
    return next(line.split(label, 1)[1].strip() for line in lines if label in line)


def _listed(lines: Sequence[str]) -> str:
    return "<ul>\n" + "\n".join(f"<li>{escape(line, quote=False)}</li>" for line in lines) + "\n</ul>"


def _write(name: str, title: str, agency: str, source: str, published: str, body: Sequence[str]) -> None:
    date = f'<meta property="article:published_time" content="{published}">\n' if published else ""
    heading = title.split(" | ")[0]
    page = (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{escape(title)}</title>\n'
        f'<meta name="author" content="{escape(agency)}">\n{date}</head>\n<body>\n<article>\n'
        f"<h1>{escape(heading)}</h1>\n" + "\n".join(body) + "\n</article>\n"
        f"<footer>{escape(agency)}: {escape(source)}. A work of the United States government, "
        "in the public domain.</footer>\n</body>\n</html>\n"
    )
    (WEB / f"{name}.html").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
