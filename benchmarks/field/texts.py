"""Our search, evaluator and answers on the texts and questions of MTRAG and EnterpriseRAG-Bench.

    python -m benchmarks.field.texts [--body mtrag|enterprise] --data FOLDER [--questions N] [--cache FOLDER] [--out …]

benchmarks.field.bodies says where the data is had and how it is read. Every text becomes a document of a library below
--cache, cut into chunks as the app cuts a file of text; each part of the data is a library of its own. Measured without
a language model, key or web: where the search has the texts that answer, beside words alone and vectors alone; how the
evaluator orders what another system found, and tells relevant from irrelevant texts, beside cosine and BM25; and what
`balanced` does with each kind of question. What was measured stays below --cache, named after what it was made of:
delete it when the code of a run changes. Writes field_NAME.json and field_NAME.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from math import log2
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.evaluator_graders import bm25
from benchmarks.evaluator_measures import auc
from benchmarks.evaluator_row import Row, grouped
from benchmarks.faithbench import interval
from benchmarks.field.bodies import BODIES, Asked, Body, NoDataError, Text
from benchmarks.field.kept import Figures, Kept, average, fraction, made
from benchmarks.field.texts_report import page
from corpora.judging import evaluator_version
from crag.core.config import AppConfig, Keys
from crag.core.ingesting import Page, ParsedDocument
from crag.core.protocols import RunRequest, SearchQuery, embed_question
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.core.types import INDEXED_AS, Action, Passage
from crag.engine import Engine
from crag.evaluation.local import LocalEvaluator
from crag.generation.conversation.brackets import BracketContextualizer
from crag.ingest.chunking import CHUNKING_ID, chunk_document
from crag.ingest.files import record_of
from crag.storage.library import Library

Values = NDArray[np.float64]

ROOT = Path(__file__).resolve().parent.parent.parent
RESULTS = ROOT / "benchmarks" / "results"
TOGETHER = 32
"""Texts that are embedded together."""
DEEP = 40
"""Chunks that are searched for the first ten texts."""
OURS = "CRAG Explorer"
MODES: dict[str, Literal["hybrid", "dense", "bm25"]] = {
    OURS: "hybrid",
    "vectors alone": "dense",
    "words alone (BM25)": "bm25",
}


def main() -> int:
    options = arguments()
    try:
        body = BODIES[options.body](options.data, options.questions)
    except NoDataError as error:
        print(f"Skipped: {error}", file=sys.stderr)
        return 2
    engine = Engine(AppConfig(), Keys(), evaluator=LocalEvaluator())
    try:
        results = measure(engine, body, options.cache)
    finally:
        engine.close()
    results = {**made(), "body": options.body, **results}
    said = page(results)
    print(said)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / f"field_{options.body}.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    (options.out / f"field_{options.body}.md").write_text(said, encoding="utf-8")
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("CRAG_BENCH_CACHE", Path(tempfile.gettempdir()) / "crag-field"))
    parser.add_argument("--body", choices=list(BODIES), default="mtrag")
    parser.add_argument("--data", type=Path, required=True, help="a checkout of the data's repository")
    parser.add_argument("--questions", type=int, default=400, help="at most; 0: all. Each number is its own libraries")
    parser.add_argument("--cache", type=Path, default=cache, help="where libraries and measurements are kept")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def measure(engine: Engine, body: Body, cache: Path) -> Figures:
    """All tables of a body."""
    made_of = json.dumps([engine.embedder.id, INDEXED_AS, CHUNKING_ID, sorted(body.texts)])
    digest = hashlib.sha256(made_of.encode()).hexdigest()[:16]
    folders = {part: cache / f"{digest}-{part}" for part in sorted({text.part for text in body.texts.values()})}
    for part, folder in folders.items():
        fill(engine.library(folder), [text for text in body.texts.values() if text.part == part], engine)
    kept = Kept(cache / f"{digest}-{evaluator_version()}.jsonl")
    brackets = BracketContextualizer()
    alone = {each.id: brackets.standalone(each.question, each.history).question for each in body.asked}
    return {
        "title": body.title,
        "questions": len(body.asked),
        "texts": len(body.texts),
        "chunks": sum(engine.library(folder).size[1] for folder in folders.values()),
        "lost_gold": body.lost,
        "gold": sum(len(each.gold) for each in body.asked),
        "search": search_tables(engine, body, folders, alone, kept),
        **runs_tables(engine, body, folders, kept),
        "relevance": relevance_table(engine, body, alone, kept),
        "order": order_table(engine, body, kept),
    }


def fill(library: Library, texts: Sequence[Text], engine: Engine) -> None:
    """Adds the texts that are not there, some together."""
    there = {document.id for document in library.documents.all()}
    new = [text for text in texts if text.id not in there]
    for start in range(0, len(new), TOGETHER):
        read = [(text, _parsed(text)) for text in new[start : start + TOGETHER]]
        cut = [chunk_document(parsed, text.id, text.id) for text, parsed in read]
        vectors = engine.embedder.embed([chunk.indexed_text for chunks in cut for chunk in chunks])
        at = 0
        for (text, parsed), chunks in zip(read, cut, strict=True):
            size = len(text.text.encode())
            document = record_of(parsed, chunks, id=text.id, name=text.id, size=size, model=engine.embedder.id)
            library.documents.add(document, b"", chunks, vectors[at : at + len(chunks)])
            at += len(chunks)
        print(f"  added {start + len(read)} of {len(new)}", file=sys.stderr)


def _parsed(text: Text) -> ParsedDocument:
    return ParsedDocument(title=text.title, pages=(Page(number=1, text=text.text, width=0, height=0),))


# ---- search --------------------------------------------------------------------------------------------------------


def search_tables(
    engine: Engine, body: Body, folders: dict[str, Path], alone: dict[str, str], kept: Kept
) -> dict[str, Figures]:
    """Each way to search with each wording of the question, over the questions that have a gold text among these."""
    asked = [each for each in body.asked if each.gold & body.texts.keys()]
    wordings: dict[str, Callable[[Asked], str]] = {"as asked": lambda each: each.question}
    if any(each.history for each in asked):
        wordings["completed by our rules"] = lambda each: alone[each.id]
    if all(each.written_out for each in asked):
        wordings["written out by the data's authors"] = lambda each: each.written_out
    gained: dict[tuple[str, str], list[float]] = {}
    found: dict[str, Figures] = {}
    for wording, words in wordings.items():
        for name, mode in MODES.items():
            ranked = [
                kept.get(
                    f"search {mode} {each.id} {words(each)}",
                    lambda each=each, mode=mode, words=words: search(
                        engine.library(folders[each.part]), SearchQuery(words(each), DEEP, mode=mode)
                    ),
                )
                for each in asked
            ]
            pairs = [(each.gold, ids) for each, ids in zip(asked, ranked, strict=True)]
            own = gained[wording, name] = [ndcg(ids, gold, 5) for gold, ids in pairs]
            found[f"{wording}: {name}"] = {
                "ndcg@5": average(own),
                "hit@5": fraction([bool(gold & set(ids[:5])) for gold, ids in pairs]),
                "hit@10": fraction([bool(gold & set(ids)) for gold, ids in pairs]),
                "reworded": sum(words(each) != each.question for each in asked),
                "less_ours": less(own, gained[wording, OURS]) if name != OURS else None,
                "less_as_asked": less(own, gained["as asked", name]) if wording != "as asked" else None,
            }
    return found


def less(values: Sequence[float], others: Sequence[float]) -> Figures:
    """The mean difference on the same questions."""
    return average([one - other for one, other in zip(values, others, strict=True)])


def search(library: Library, query: SearchQuery) -> list[str]:
    """The first ten texts, each at its first chunk."""
    return list(dict.fromkeys(each.chunk.document_id for each in library.find(query)))[:10]


def ndcg(ids: Sequence[str], gold: Iterable[str], count: int) -> float:
    """Of the first `count`, with all gold texts in the ideal, as MTRAG measures it; 0..1."""
    wanted = set(gold)
    gain = sum(1 / log2(rank + 1) for rank, id in enumerate(ids[:count], start=1) if id in wanted)
    return gain / sum(1 / log2(rank + 1) for rank in range(1, min(len(wanted), count) + 1))


# ---- the evaluator -------------------------------------------------------------------------------------------------


def scored(engine: Engine, rows: Sequence[Row], kept: Kept) -> dict[str, Values]:
    """Scores of the rows by the evaluator, the embedding model and BM25."""
    values: list[float | None] = []
    cosines: list[float] = []
    for group, places in grouped(rows).items():
        question, texts = rows[places[0]].question, [rows[at].text for at in places]
        values += kept.get(f"grades {group} {question}", lambda of=(question, texts): grade(engine, *of))
        cosines += kept.get(f"cosines {group} {question}", lambda of=(question, texts): cosine(engine, *of))
        print(f"  scored {len(values)} of {len(rows)}", file=sys.stderr)
    if None in values:
        raise SystemExit("A text was not graded: figures of the others would mislead.")
    return {
        "evaluator": np.array(values, np.float64),
        "vectors alone": np.array(cosines, np.float64),
        "words alone (BM25)": bm25(rows),
    }


def grade(engine: Engine, question: str, texts: Sequence[str]) -> list[float | None]:
    """The evaluator's score of each text."""
    passages = [Passage(id=str(at), text=text) for at, text in enumerate(texts)]
    found = {each.passage_id: each.score for each in engine.evaluator.grade(question, passages)}
    return [found[each.id] for each in passages]


def cosine(engine: Engine, question: str, texts: Sequence[str]) -> list[float]:
    """Of the question with each text, by the embedding model."""
    found: list[float] = (engine.embedder.embed(texts) @ embed_question(engine.embedder, question)).tolist()
    return found


def order_table(engine: Engine, body: Body, kept: Kept) -> Figures | None:
    """What another system found, in its order and in ours; over the questions that have a gold text."""
    asked = [each for each in body.asked if each.candidates and each.gold]
    if not asked:
        return None
    rows = [
        Row(f"order {each.id}", each.written_out or each.question, body.texts[id].titled, int(id in each.gold))
        for each in asked
        for id in each.candidates
    ]
    places = list(grouped(rows).values())
    orders = {"its own order": -np.arange(len(rows), dtype=np.float64), **scored(engine, rows, kept)}
    gained: dict[str, list[float]] = {
        name: [
            ndcg([each.candidates[at] for at in np.argsort(-scores[where], kind="stable")], each.gold, 5)
            for each, where in zip(asked, places, strict=True)
        ]
        for name, scores in orders.items()
    }
    own = gained["its own order"]
    return {name: {"ndcg@5": average(values), "less_own": less(values, own)} for name, values in gained.items()}


def relevance_table(engine: Engine, body: Body, alone: dict[str, str], kept: Kept) -> Figures:
    """AUC over texts, relevant or not, and over questions: does the best of their texts say whether one answers?"""
    asked = [each for each in body.asked if each.judged]
    rows = [
        Row(f"judged {each.id}", alone[each.id], body.texts[id].titled, int(label))
        for each in asked
        for id, label in each.judged.items()
    ]
    places = [np.array(where) for where in grouped(rows).values()]
    labels = np.array([row.label for row in rows], np.int64)
    absent = np.array([each.kind in body.absent for each in asked])
    answered = np.array([bool(each.gold) for each in asked])
    found: Figures = {"texts": len(rows), "relevant": int(labels.sum()), "absent": int(absent.sum())}
    for name, scores in scored(engine, rows, kept).items():
        best = np.array([scores[where].max() for where in places])
        known = absent | answered
        found[name] = {
            "text": _auc([(labels[where], scores[where]) for where in places]),
            "question": _auc(list(zip(answered[known, None].astype(int), best[known, None], strict=True))),
        }
    return found


def _auc(groups: Sequence[tuple[Values, Values]]) -> Figures:
    """Over all values, with a bootstrap over groups."""

    def figure(chosen: Iterable[int]) -> float:
        some = [groups[at] for at in chosen]
        value = auc(np.concatenate([label for label, _ in some]), np.concatenate([score for _, score in some]))
        return float("nan") if value is None else value

    low, high = interval(len(groups), figure)
    return {"value": figure(range(len(groups))), "low": low, "high": high, "of": len(groups)}


# ---- runs ----------------------------------------------------------------------------------------------------------


def runs_tables(engine: Engine, body: Body, folders: dict[str, Path], kept: Kept) -> Figures:
    """What `balanced` does by kind of question, and whether its score and confidence tell what nothing answers."""
    runs = []
    for at, each in enumerate(body.asked, start=1):
        runs.append(kept.get(f"run {each.id}", lambda each=each: run(engine, folders[each.part], each)))
        if at % 20 == 0:
            print(f"  asked {at} of {len(body.asked)}", file=sys.stderr)
    kinds: dict[str, list[Figures]] = {}
    for each, row in zip(body.asked, runs, strict=True):
        kinds.setdefault(each.kind, []).append(row)
    pairs = list(zip(body.asked, runs, strict=True))
    judged = [(int(bool(each.gold)), row) for each, row in pairs if each.gold or each.kind in body.absent]
    return {
        "kinds": {kind: _kind(rows) for kind, rows in kinds.items()},
        "answerable": {
            name: _auc([(np.array([label]), np.array([row[key] or 0.0])) for label, row in judged])
            for name, key in (("score of the set", "score"), ("confidence of the answer", "confidence"))
        },
    }


def run(engine: Engine, folder: Path, asked: Asked) -> Figures:
    """One run within its conversation. Ends the program where it fails."""
    settings = strategy("balanced").settings.changed(verify=False)
    request = RunRequest(asked.question, workspace=folder, settings=settings, history=asked.history)
    trace = Trace.from_events(engine.ask(request))
    if trace.answer is None or trace.decision is None:
        raise SystemExit(f"{asked.id}: {trace.failure or 'no answer'}")
    of = {found.chunk.id: found.chunk.document_id for each in trace.rounds for found in each.chunks}
    kept = {of[strip.source_id] for strip in trace.kept() if strip.source_id in of}
    return {
        "action": str(trace.action),
        "score": trace.decision.score,
        "abstained": trace.answer.abstained,
        "low": trace.answer.low_confidence,
        "confidence": None if trace.answer.abstained else trace.answer.confidence,
        "evidence": bool(kept & asked.gold) if asked.gold else None,
        "asked": trace.meant,
    }


def _kind(rows: Sequence[Figures]) -> Figures:
    """Of one kind of question: each action, the answers, and whether a gold text is in the evidence."""
    with_gold = [row["evidence"] for row in rows if row["evidence"] is not None]
    return {
        **{str(action): fraction([row["action"] == action for row in rows]) for action in Action},
        "abstained": fraction([row["abstained"] for row in rows]),
        "low": fraction([row["low"] and not row["abstained"] for row in rows]),
        "confident": fraction([not row["low"] and not row["abstained"] for row in rows]),
        "evidence": fraction(with_gold),
    }


if __name__ == "__main__":
    sys.exit(main())
