"""Published question sets: the records of FinanceBench and PopQA as this project's own, and XQuAD's articles."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.rows import read_rows
from crag.analysis.questions.sets import QuestionSet, read_set


def read_published(path: Path) -> QuestionSet:
    """The questions of a file of JSON lines, those of other sets by their own keys. Raises OSError, InputError."""
    rows = read_rows(path)
    return read_set(path.name, "\n".join(json.dumps(_own(row)) for row in rows).encode())


def read_xquad(data: Path, language: str, part: str) -> list[dict[str, Any]]:
    """The articles of a part, "train" or "test", in SQuAD's form; in the same order in every language."""
    with gzip.open(data / "xquad" / f"{language}_{part}.json.gz", "rt", encoding="utf-8") as file:
        found: list[dict[str, Any]] = json.load(file)
    return found


def _own(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "financebench_id" in row:
        return _financebench(row)
    return _popqa(row) if "possible_answers" in row or "s_wiki_title" in row else row


def _financebench(row: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence pages count from 0 there, and documents lack their ending; a piece of evidence may be of another one."""
    own = row["doc_name"]
    evidence = [(each.get("doc_name") or own, each["evidence_page_num"] + 1) for each in row["evidence"]]
    places = list(dict.fromkeys(evidence))
    names = [f"{name}.pdf" for name, _ in places]
    return {
        "id": row["financebench_id"],
        "question": row["question"],
        "answers": [row["answer"]],
        "sources": names if len(set(names)) > 1 else names[:1],
        "pages": [page for _, page in places],
    }


def _popqa(row: Mapping[str, Any]) -> dict[str, Any]:
    """The page about the subject is the expected source."""
    return {
        "id": row.get("id"),
        "question": row["question"],
        "answers": row.get("possible_answers") or row["answers"],
        "source": row.get("s_wiki_title") or row.get("title"),
    }
