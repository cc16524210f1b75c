"""How often search finds the right paragraph in each of twelve languages, and by a question of another language.

Run `python -m benchmarks.xquad [--languages de zh …] [--questions N]`. It prints a table and, with all languages,
writes results/xquad.json and results/xquad.md. Vectors are cached as in `benchmarks.retrieval`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluator_library import spread
from benchmarks.pages import RESULTS, publish
from benchmarks.retrieval import CachedEmbedder, Read, build
from corpora.places import parser_of
from corpora.published_sets import read_xquad
from crag.core.ingesting import Page, ParsedDocument
from crag.core.protocols import SearchQuery
from crag.core.types import Document
from crag.ingest.chunking import chunk_document
from crag.ingest.files import content_id
from crag.retrieval.ranking import Mode
from crag.storage.library import Library

LANGUAGES = {
    **{"en": "English", "de": "German", "es": "Spanish", "ro": "Romanian", "vi": "Vietnamese", "tr": "Turkish"},
    **{"ru": "Russian", "el": "Greek", "ar": "Arabic", "hi": "Hindi", "th": "Thai", "zh": "Chinese"},
}
GOALS = {"de": 0.95, "es": 0.95, "ru": 0.95, "zh": 0.9, "ar": 0.9, "hi": 0.9, "th": 0.9}
FIRST = 3
"""How many different paragraphs the right one is among."""
CHUNKS = 24
"""Chunks asked for: more than the first three paragraphs are cut into."""
MODES: tuple[Mode, ...] = ("hybrid", "dense", "bm25")

Questions = list[tuple[str, int]]
"""Each with the number of the paragraph that answers it, which is the same in every language."""


def load(data: Path, language: str) -> tuple[list[str], Questions]:
    """All paragraphs of a language, and its questions."""
    paragraphs: list[str] = []
    questions: Questions = []
    for part in ("train", "test"):
        for paragraph in (each for article in read_xquad(data, language, part) for each in article["paragraphs"]):
            questions += [(each["question"], len(paragraphs)) for each in paragraph["qas"]]
            paragraphs.append(paragraph["context"])
    return paragraphs, questions


def read(paragraphs: Sequence[str], embedder: CachedEmbedder) -> list[Read]:
    """Each paragraph as a document whose name says its number."""
    found = []
    for number, text in enumerate(paragraphs):
        parsed = ParsedDocument(title="", kind="text", pages=(Page(number=1, text=text, width=0, height=0),))
        id, name = content_id(f"{number}\n{text}".encode()), _name(number)
        chunks = tuple(chunk_document(parsed, id, name))
        document = Document(
            id=id,
            name=name,
            title="",
            size=len(text),
            pages=1,
            chunks=len(chunks),
            added_at="2026-01-01T00:00:00+00:00",
            model=embedder.id,
        )
        found.append(Read(document, chunks, embedder.embed([chunk.indexed_text for chunk in chunks])))
    return found


def _name(number: int) -> str:
    """No word that a question could hold."""
    return f"p{number}x.txt"


def share(library: Library, questions: Questions, mode: Mode) -> float:
    """The share of questions whose paragraph is among the first three."""
    hits = 0
    for question, wanted in questions:
        found = library.find(SearchQuery(question, CHUNKS, mode=mode))
        hits += _name(wanted) in list(dict.fromkeys(each.chunk.source for each in found))[:FIRST]
    return round(hits / len(questions), 3)


def measure(data: Path, languages: Sequence[str], most: int, embedder: CachedEmbedder) -> dict[str, dict[str, float]]:
    """Shares by language: of its own questions in each mode, and of its questions put to the English paragraphs."""
    found: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        english = build(Path(folder) / "english", read(load(data, "en")[0], embedder), embedder)
        for language in languages:
            paragraphs, questions = load(data, language)
            asked = spread(questions, most)
            own = build(Path(folder) / language, read(paragraphs, embedder), embedder)
            found[language] = {mode: share(own, asked, mode) for mode in MODES}
            found[language]["on English text"] = share(english, asked, "hybrid")
            own.close()
            embedder.save()
            print(language, found[language], flush=True)
        english.close()
    return found


def report(found: dict[str, dict[str, float]], model: str, questions: int, paragraphs: int) -> str:
    """The results page."""
    lines = [
        "# XQuAD: twelve languages",
        "",
        f"The share of {questions} questions whose right paragraph is among the first three of all {paragraphs} of its",
        "language. Every language has the same questions and paragraphs. Search is the app's own, with",
        f"{model}. Made by `python -m benchmarks.xquad`.",
        "",
        "| language | goal | hybrid (the default) | meaning alone | words alone | asked of English text |",
        "|---|---|---|---|---|---|",
    ]
    for language, row in found.items():
        goal = f"{GOALS[language]:.2f}" if language in GOALS else "–"
        figures = " | ".join(f"{row[each]:.3f}" for each in (*MODES, "on English text"))
        lines.append(f"| {LANGUAGES[language]} | {goal} | {figures} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--questions", type=int, default=0, help="at most about this number of each language; 0: all")
    given = parser.parse_args()
    embedder = CachedEmbedder(given.cache)
    found = measure(given.data, given.languages, given.questions, embedder)
    paragraphs, questions = load(given.data, "en")
    asked = len(spread(questions, given.questions))
    missed = [each for each, goal in GOALS.items() if each in found and found[each]["hybrid"] < goal]
    if missed:
        print("Below the goal:", ", ".join(missed))
    figures = {"model": embedder.id, "questions": asked, "shares": found}
    whole = given.languages == list(LANGUAGES)
    page = report(found, embedder.id, asked, len(paragraphs))
    publish("xquad", page, figures, folder=RESULTS if whole else None)


if __name__ == "__main__":
    main()
