"""The best title of a document: from its metadata, its first page or its file's name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crag.ingest.files import own_name
from crag.text.words import FUNCTION_WORDS, words

LONGEST_TITLE = 120
AS_LARGE = 0.9
"""Of the height of the largest line: what has that is as large."""
_EXTENSION = re.compile(
    r"\.(?:pdf|doc[xm]?|indd|pp[ts][xm]?|xls[xm]?|csv|tsv|html?|txt|md|markdown|rtf|epub|od[tsp]|eml|msg)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z]{3})(?=[A-Z][a-z])")
_POOR = re.compile(
    r"^(?:untitled|title|document\d*|slide \d+|microsoft (?:word|powerpoint|excel)\b.*|powerpoint presentation|"
    r"presentation\d*|new document|[\d\s._-]*|.*\.(?:pdf|docx?|indd|pptx?|xlsx?|html?|qxd|dvi|tex|eps)|"
    r"\(anonymous\)|none|null|unknown|scan\w*|page \d+|print|cover|form)$",
    re.IGNORECASE,
)
_NO_TITLE = re.compile(r"table of contents|^https?:|^www\.", re.IGNORECASE)


def readable_stem(name: str) -> str:
    """A file name without its extension, its words apart: ACME_2019_10K.pdf is "ACME 2019 10K"."""
    stem = _EXTENSION.sub("", own_name(name))
    return " ".join(_CAMEL.sub(" ", re.sub(r"[_+]+|(?<=\w)-(?=\w{5})", " ", stem)).split())


def document_title(
    metadata: str, lines: Sequence[tuple[str, float]], name: str, *, own: bool = False, subject: str = ""
) -> str:
    """At most 120 characters: the best title, with the file's name where that adds a word or a year.

    `lines` are the first page's lines with their heights in points, top to bottom. `own`: a title is good by itself,
    as a web page's is. `subject`: what the document's form says that it is about; forms of one kind share their title.
    """
    stem = readable_stem(name)
    title = _metadata(metadata, stem) or _largest(lines, stem)
    if not title:
        return (stem or "document")[:LONGEST_TITLE]
    after = f" – {subject}"[: LONGEST_TITLE // 2] if subject else ""
    adds = not own and _tells(stem) and any(not _in(word, title + after) for word in re.split(r"[\s-]+", stem))
    before = f"{stem} – " if adds and len(stem) + len(after) <= LONGEST_TITLE // 2 else ""
    return before + _cut(title, LONGEST_TITLE - len(before + after)) + after


def _cut(title: str, most: int) -> str:
    return title if len(title) <= most else title[: most - 1].rsplit(" ", 1)[0].rstrip(" ,;:–-") + "…"


def _in(word: str, title: str) -> bool:
    squeezed = re.sub(r"[\W_]", "", title).lower()
    return re.sub(r"[\W_]", "", word).lower() in squeezed


def _tells(stem: str) -> bool:
    """Whether a file's name is made of words, not a hash or a serial number."""
    worded = sum(map(str.isdigit, stem)) <= 6 or any(len(word) >= 4 and word.isalpha() for word in stem.split())
    return worded and sum(map(str.isalpha, stem)) >= 3 and not re.fullmatch(r"[0-9a-f-]{16,}", stem.lower())


def _metadata(metadata: str, stem: str) -> str:
    title = " ".join(metadata.split())
    if len(title) < 4 or _POOR.match(title) or not _tells(title):
        return ""
    lettered = sum(map(str.isalpha, title)) >= 0.4 * len(title)
    return title if lettered and title.lower() != stem.lower() else ""


def _largest(lines: Sequence[tuple[str, float]], stem: str) -> str:
    """The largest lines of the first page that say something, joined where they follow one another; of a short page
    whose lines are all as large, the first.

    Of several as large, those that the file's name speaks of: a form has its own name above its company's.
    """
    said = [(i, t, h) for i, (t, h) in enumerate(lines) if _says(t)]
    most = max((height for _, _, height in said), default=0.0)
    heights = sorted(height for _, height in lines)
    if len(lines) > 8 and most < 1.15 * heights[len(lines) // 2]:
        return ""
    joined = bool(heights) and most > 1.15 * heights[0]
    named = [word for word in stem.split() if len(word) > 3 and word.isalpha()]
    large = [line for line in said if line[2] > AS_LARGE * most and any(_in(word, line[1]) for word in named)]
    first, _, most = max(large, key=lambda line: line[2]) if large else (0, "", most)
    parts: list[str] = []
    last = -1
    for index, text, height in said:
        if index >= first and height > AS_LARGE * most and (not parts or (joined and index - last <= 1)):
            parts.append(text)
            last = index
    return " ".join(" ".join(parts).split())[:200]


def _says(text: str) -> bool:
    lettered = sum(map(str.isalpha, text)) >= 4
    return lettered and not _NO_TITLE.search(text) and not FUNCTION_WORDS.issuperset(words(text))
