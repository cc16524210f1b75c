"""Published sets become the project's own questions: by hand, and whole files as they come."""

import json
from pathlib import Path

import pytest

from corpora.published_sets import read_published


def test_popqa(tmp_path: Path) -> None:
    rows = [
        {"id": 9, "question": "What is his work?", "possible_answers": '["poet", "writer"]', "title": "Ann (poet)"},
        {"id": 8, "question": "What is his work?", "answers": ["poet", "writer"], "s_wiki_title": "Ann (poet)"},
    ]
    (tmp_path / "set.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    for asked in read_published(tmp_path / "set.jsonl").questions:
        assert (asked.answers, asked.sources) == (("poet", "writer"), ("Ann (poet)",))


def test_financebench_counts_pages_from_0_and_keeps_them_with_their_documents(tmp_path: Path) -> None:
    pieces = [{"evidence_page_num": 7, "doc_name": "B"}, {"evidence_page_num": 3}, {"evidence_page_num": 9}]
    row = {"financebench_id": "f1", "question": "How much?", "answer": 5, "doc_name": "A_2020_10K"}
    (tmp_path / "set.jsonl").write_text(json.dumps({**row, "evidence": pieces}), encoding="utf-8")
    (asked,) = read_published(tmp_path / "set.jsonl").questions
    assert (asked.id, asked.answers) == ("f1", ("5",))
    assert list(zip(asked.sources, asked.pages, strict=True)) == [
        ("B.pdf", 8),
        ("A_2020_10K.pdf", 4),
        ("A_2020_10K.pdf", 10),
    ]


@pytest.mark.parametrize(
    ("path", "count"),
    [("popqa/knowledge.jsonl", 819), ("financebench/questions.jsonl", 45), ("mmlongbench/questions.jsonl", 119)],
)
def test_a_published_file_is_read_whole(shared_data: Path, path: str, count: int) -> None:
    found = read_published(shared_data / path)
    assert len(found.questions) == count
    assert not [problem for problem in found.problems if not problem.kept]
