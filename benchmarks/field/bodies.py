"""Texts and the questions asked of them, as two public benchmarks have them: MTRAG, and EnterpriseRAG-Bench in small.

MTRAG (arXiv 2501.03468, Apache-2.0) is github.com/IBM/mt-rag-benchmark. It is read from a checkout of its fork
github.com/pashaAbri/mt-rag-benchmark, which has each turn in a small file, and for three of the four collections what
ELSER found over the whole collection. EnterpriseRAG-Bench (arXiv 2605.05253, MIT) is read from a checkout of
github.com/hydra-db/enterpriserag-bench-hydradb, whose 2,667 texts one system retrieved, with questions.jsonl of
github.com/onyx-dot-app/EnterpriseRAG-Bench copied into it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.evaluator_library import spread
from benchmarks.evaluator_sets import lines
from crag.core.types import Exchange

COLLECTIONS = ("clapnq", "cloud", "fiqa", "govt")
TASKS = "cleaned_data/tasks"
ELSER = "scripts/baselines/retrieval_scripts/elser/results/elser_{}_rewrite.jsonl"
REWRITTEN = "human/retrieval_tasks/{0}/{0}_rewrite.jsonl"
CONTEXTS = "artifacts/run-2026-09-04/contexts.jsonl.gz"
_HEAD = re.compile(r"\[document \d+ \| source=(.*?) \| title=(.*) \| id=(\S+)\]\n")
_BETWEEN = "\n\n=====\n\n"


@dataclass(frozen=True, slots=True)
class Text:
    """One text; `part` names the library that it belongs to."""

    id: str
    part: str
    title: str
    text: str

    @property
    def titled(self) -> str:
        """As the evaluator is given it: below its title, as the app grades a chunk."""
        return f"{self.title}\n{self.text}" if self.title else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, of the texts of its part.

    `written_out` is the question as the data's authors let it stand alone; "" where they don't. `gold`: the ids of the
    texts that answer. `judged`: texts that one was shown for the question, and whether they are relevant. `candidates`:
    the ids of what another system found, best first.
    """

    id: str
    part: str
    kind: str
    question: str
    history: tuple[Exchange, ...] = ()
    written_out: str = ""
    gold: frozenset[str] = frozenset()
    judged: Mapping[str, bool] = field(default_factory=dict)
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """`absent`: the kinds of questions that no text answers. `lost`: gold ids that none of the texts has."""

    title: str
    texts: Mapping[str, Text]
    asked: Sequence[Asked]
    absent: frozenset[str]
    lost: int


class NoDataError(Exception):
    """The data is not there; the message says where it is had."""


def mtrag(folder: Path, most: int) -> Body:
    """Every turn that is not plainly answerable, and of the others as many as make `most`; 0: all. Raises NoDataError.

    The texts are those that people were shown for these turns, and ELSER's first ten for those that it was asked.
    """
    files = sorted((folder / TASKS).glob("*/*.json"))
    if not files:
        raise NoDataError(f"no MTRAG in {folder}. Clone github.com/pashaAbri/mt-rag-benchmark there.")
    conversations: dict[str, list[dict[str, Any]]] = {}
    for file in files:
        task = json.loads(file.read_text(encoding="utf-8"))
        conversations.setdefault(task["conversation_id"], []).append(task)
    written = {row["_id"]: row["text"] for part in COLLECTIONS for row in lines(folder / REWRITTEN.format(part))}
    found = {
        row["task_id"]: row["contexts"]
        for part in COLLECTIONS
        if (file := folder / ELSER.format(part)).is_file() and file.stat().st_size
        for row in lines(file)
    }
    turns = [
        turn
        for _, tasks in sorted(conversations.items(), key=lambda each: int(each[0]))
        for turn in _turns(sorted(tasks, key=lambda task: int(task["turn_id"])), written, found)
    ]
    rare = [turn for turn, _ in turns if turn.kind != "answerable"]
    answerable = [turn for turn, _ in turns if turn.kind == "answerable"]
    chosen = rare + (spread(answerable, max(1, most - len(rare))) if most else answerable)
    used = {id for turn in chosen for id in (*turn.judged, *turn.candidates)}
    texts = {id: text for _, shown in turns for id, text in shown.items() if id in used}
    return _body("MTRAG", texts, chosen, frozenset({"unanswerable"}))


def _turns(
    tasks: Sequence[Mapping[str, Any]], written: Mapping[str, str], found: Mapping[str, Sequence[Mapping[str, Any]]]
) -> Iterator[tuple[Asked, dict[str, Text]]]:
    """The turns of one conversation in order, each with its texts."""
    history: list[Exchange] = []
    for task in tasks:
        question, said, candidates = task["user"]["text"], task["agent"], found.get(task["task_id"], ())
        judged = {
            each["document_id"]: max(marks.values(), key=lambda mark: int(mark["timestamp"]))["value"] == "yes"
            for each in said["contexts"]
            if (marks := each.get("feedback", {}).get("relevant"))
        }
        yield (
            Asked(
                id=task["task_id"],
                part=task["domain"],
                kind=task["user"]["enrichments"]["Answerability"][0].casefold(),
                question=question,
                history=tuple(history),
                written_out=written.get(task["task_id"], "").removeprefix("|user|: "),
                gold=frozenset(id for id, relevant in judged.items() if relevant),
                judged=judged,
                candidates=tuple(each["document_id"] for each in candidates),
            ),
            {each["document_id"]: _passage(each, task["domain"]) for each in (*said["contexts"], *candidates)},
        )
        history.append(Exchange(question=question, answer=said["text"]))


def _passage(row: Mapping[str, Any], part: str) -> Text:
    """The title, where there is one, also opens the text of the data."""
    title = row.get("title") or ""
    return Text(row["document_id"], part, title, row["text"].removeprefix(f"{title}\n").strip())


def enterprise(folder: Path, most: int) -> Body:
    """All questions, or `most` of them evenly spread, over all texts in one library. Raises NoDataError."""
    contexts, questions = folder / CONTEXTS, folder / "questions.jsonl"
    if not (contexts.is_file() and questions.is_file()):
        raise NoDataError(
            f"no EnterpriseRAG-Bench in {folder}. Clone github.com/hydra-db/enterpriserag-bench-hydradb there, and "
            "copy questions.jsonl of github.com/onyx-dot-app/EnterpriseRAG-Bench into it."
        )
    texts: dict[str, Text] = {}
    shown: dict[str, list[str]] = {}
    with gzip.open(contexts, "rt", encoding="utf-8") as rows:
        for row in map(json.loads, rows):
            for block in row["context"].split(_BETWEEN):
                if head := _HEAD.match(block):
                    _, title, id = head.groups()
                    texts[id] = Text(id, "all", title, block[head.end() :].strip())
                    shown.setdefault(row["question_id"], []).append(id)
    asked = [
        Asked(
            id=row["question_id"],
            part="all",
            kind=row["question_type"],
            question=row["question"],
            gold=frozenset(row["expected_doc_ids"]),
            judged={id: id in row["expected_doc_ids"] for id in shown.get(row["question_id"], ())},
            candidates=tuple(shown.get(row["question_id"], ())),
        )
        for row in spread(lines(questions), most)
    ]
    return _body("EnterpriseRAG-Bench, small", texts, asked, frozenset({"info_not_found"}))


def _body(title: str, texts: Mapping[str, Text], asked: Sequence[Asked], absent: frozenset[str]) -> Body:
    return Body(title, texts, asked, absent, sum(id not in texts for each in asked for id in each.gold))


BODIES = {"mtrag": mtrag, "enterprise": enterprise}
