"""Adapters: published shapes, by hand and as they come, become the project's own questions."""

import json
from pathlib import Path

import pytest

from crag.analysis.questions.adapters import UNANSWERABLE
from crag.analysis.questions.sets import QuestionSet, read_set
from crag.core.errors import InputError


def read(value: object) -> QuestionSet:
    return read_set("set", json.dumps(value).encode())


def squad(*asked: object) -> dict[str, object]:
    return {"version": "v2", "data": [{"title": "Rivers", "paragraphs": [{"context": "...", "qas": list(asked)}]}]}


def test_nested_squad() -> None:
    answers = [{"text": "the Aare", "answer_start": 3}, {"text": "the Aare", "answer_start": 3}, {"text": "Aare"}]
    found = read(
        squad(
            {"id": "1", "question": "Which river?", "is_impossible": False, "answers": answers},
            {"id": "2", "question": "Which sea?", "is_impossible": True, "answers": [], "plausible_answers": answers},
        )
    )
    first, second = found.questions
    assert (first.id, first.answers, first.sources, first.labels) == ("1", ("the Aare", "Aare"), ("Rivers",), ())
    assert (second.answers, second.labels) == ((), (UNANSWERABLE,))
    assert found.kind == "SQuAD"
    assert found.understood == ()


def test_what_is_not_whole_in_nested_squad_is_named() -> None:
    document = squad({"id": "1", "question": "A?", "answers": "x"}, 7, {"id": "3", "question": "C?"}, {"id": "4"})
    assert isinstance(document["data"], list)
    document["data"] += [5, {"title": "T", "paragraphs": [{"context": "..."}]}]
    found = read(document)
    assert [each.id for each in found.questions] == ["3"]
    assert [problem.row for problem in found.problems] == [1, 2, 4, 5, 6]


def test_flat_squad() -> None:
    rows = [
        {"id": "1", "title": "Rivers", "context": "", "question": "A?", "answers": {"text": ["a", "b"]}},
        {"id": "2", "title": "Rivers", "context": "", "question": "B?", "answers": {"text": [], "answer_start": []}},
    ]
    found = read(rows)
    assert [each.answers for each in found.questions] == [("a", "b"), ()]
    assert [each.labels for each in found.questions] == [(), (UNANSWERABLE,)]
    assert found.kind == "SQuAD"


@pytest.mark.parametrize(
    "row",
    [
        {
            "id": 9,
            "question": "What is his work?",
            "possible_answers": '["poet", "writer"]',
            "s_wiki_title": "Ann (poet)",
        },
        {"id": 9, "question": "What is his work?", "answers": ["poet", "writer"], "s_wiki_title": "Ann (poet)"},
        {"id": 9, "question": "What is his work?", "possible_answers": ["poet", "writer"], "title": "Ann (poet)"},
    ],
)
def test_popqa(row: dict[str, object]) -> None:
    (asked,) = read([row]).questions
    assert (asked.id, asked.answers, asked.sources) == ("9", ("poet", "writer"), ("Ann (poet)",))


def evidence(page: object, document: str | None = None) -> dict[str, object]:
    return {"evidence_text": "...", "evidence_page_num": page, **({"doc_name": document} if document else {})}


def bench(*listed: object, document: str = "A_2020_10K") -> dict[str, object]:
    return {"financebench_id": "f1", "question": "How much?", "answer": 5, "doc_name": document, "evidence": [*listed]}


def test_financebench_with_two_documents_keeps_pages_with_theirs() -> None:
    (asked,) = read([bench(evidence(7, "B.pdf"), evidence(3), evidence(9))]).questions
    assert list(zip(asked.sources, asked.pages, strict=True)) == [
        ("B.pdf", 8),
        ("A_2020_10K.pdf", 4),
        ("A_2020_10K.pdf", 10),
    ]


@pytest.mark.parametrize("page", [-1, "7", None, True, 2.5])
def test_financebench_with_a_bad_page_is_named(page: object) -> None:
    found = read([bench(evidence(page)), bench(evidence(1))])
    assert len(found.questions) == 1
    assert [problem.row for problem in found.problems] == [1]
    assert "evidence_page_num" in found.problems[0].what
    with pytest.raises(InputError, match="evidence_page_num"):
        read([bench(evidence(page))])


def test_own_columns_of_a_similar_name_are_no_published_set() -> None:
    found = read_set("own.csv", b"question,answer,doc_name,evidence\nHow much?,5,mine.pdf,see above\n")
    assert found.kind == "CSV"
    assert found.questions[0].sources == ("mine.pdf",)


# ---- as they come --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "kind", "count"),
    [
        ("squad/v1_test.json", "SQuAD", 1251),
        ("squad/v2_test.json", "SQuAD", 839),
        ("popqa/train.jsonl", "PopQA", 671),
        ("popqa/knowledge.jsonl", "PopQA", 819),
        ("financebench/questions.jsonl", "FinanceBench", 45),
    ],
)
def test_a_published_file_is_read_whole(shared_data: Path, path: str, kind: str, count: int) -> None:
    found = read_set(path, (shared_data / path).read_bytes())
    assert found.kind == kind
    assert len(found.questions) == count
    assert not [problem for problem in found.problems if not problem.kept]
    assert all(each.sources and (each.answers or each.labels == (UNANSWERABLE,)) for each in found.questions)


def test_the_documents_of_financebench_are_those_that_lie_beside_it(shared_data: Path) -> None:
    folder = shared_data / "financebench"
    found = read_set("questions.jsonl", (folder / "questions.jsonl").read_bytes())
    assert {name for each in found.questions for name in each.sources} <= {each.name for each in folder.glob("pdfs/*")}
    assert all(each.pages for each in found.questions)
