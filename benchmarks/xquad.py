"""How often search finds the right paragraph in each of twelve languages, and by a question of another language.

Run `python -m benchmarks.xquad [--languages de zh …] [--questions N]`. It prints a table and, with all languages,
writes results/xquad.json and results/xquad.md. Vectors are cached as in `benchmarks.retrieval`.
With `--answers` whole questions of the test part are asked under `balanced`, without a language model: of those that
the library answers, of those that it does not, and of the first put in English. It writes results/xquad_answers.md.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.evaluator_library import spread
from benchmarks.pages import parse, publish, table
from benchmarks.retrieval import CachedEmbedder, Read, build
from corpora.answer_questions import language_questions
from corpora.judging import evaluator_version, is_right
from corpora.libraries import library_of
from corpora.places import parser_of
from corpora.published_sets import read_xquad
from crag.core.config import AppConfig, Keys
from crag.core.ingesting import Page, ParsedDocument
from crag.core.protocols import RunRequest, SearchQuery
from crag.core.types import Document
from crag.engine import Engine
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


OUTCOMES = ("right, unmarked", "right, marked", "wrong, marked", "wrong, unmarked", "refused")


def answers(data: Path, language: str, most: int, cache: Path) -> dict[str, Counter[str]]:
    """How many questions of the test part came to what: that the library answers, that it does not, put in English."""
    engine = Engine(AppConfig(), Keys())
    files, asked = language_questions(data, language, "test")
    library = library_of(engine, files, cache)
    found = {"answered": Counter[str](), "absent": Counter[str](), "crossing": Counter[str]()}
    for question, _ in spread(asked, most):
        said = engine.trace(RunRequest(question.question, workspace=library)).answer
        assert said is not None, question
        kind = ("crossing" if question.kind == "crossing" else "answered") if question.answerable else "absent"
        outcome = f"{'right' if is_right(said, question) else 'wrong'}, {'' if said.state == 'check' else 'un'}marked"
        found[kind]["refused" if said.abstained else outcome] += 1
    engine.close()
    print(language, {kind: dict(each) for kind, each in found.items()}, flush=True)
    return found


def answers_page(found: dict[str, dict[str, Counter[str]]]) -> str:
    """A table of each kind of question."""
    titles = {
        "answered": "Questions that the library answers",
        "absent": "Questions that it does not answer",
        "crossing": "Some of the first, put in English",
    }
    lines = [
        "# XQuAD: whole questions in twelve languages",
        "",
        f"By `python -m benchmarks.xquad --answers`, evaluator {evaluator_version()}: strategy `balanced`, no language "
        "model, no web. Questions of the test part's articles, whose last paragraphs are not in the library; weights "
        "were fitted on other articles in the same languages but English.",
    ]
    for kind, title in titles.items():
        own = {language: each[kind] for language, each in found.items() if each[kind]}
        rows = [[LANGUAGES[name], each.total(), *(each[one] for one in OUTCOMES)] for name, each in own.items()]
        whole = sum(own.values(), Counter[str]())
        rows.append(["**all**", whole.total(), *(whole[one] for one in OUTCOMES)])
        lines += ["", f"## {title}", "", table(["language", "questions", *OUTCOMES], rows)]
    return "\n".join(lines)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--answers", action="store_true", help="ask whole questions")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--languages", nargs="+", choices=LANGUAGES, default=list(LANGUAGES))
    parser.add_argument("--questions", type=int, default=0, help="at most about this number of each language; 0: all")
    given = parse(parser, "answers")
    if given.answers:
        found = {each: answers(given.data, each, given.questions, given.cache / "xquad") for each in given.languages}
        publish("xquad_answers", answers_page(found), folder=given.folder)
        return
    embedder = CachedEmbedder(given.cache)
    shares = measure(given.data, given.languages, given.questions, embedder)
    paragraphs, questions = load(given.data, "en")
    asked = len(spread(questions, given.questions))
    figures = {"model": embedder.id, "questions": asked, "shares": shares}
    page = report(shares, embedder.id, asked, len(paragraphs))
    publish("xquad", page, figures, folder=given.folder)


if __name__ == "__main__":
    main()
