"""MTRAG and EnterpriseRAG-Bench in small, made up in the form of their files: what is read, and what is measured."""

import bz2
import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks.field import filings, texts, web_pages
from benchmarks.field.bodies import ELSER, REWRITTEN, TASKS, mtrag
from benchmarks.field.kept import Kept
from crag.core.types import Exchange

BRIDGE = "The Keller Bridge was opened in 1931. It is 412 metres long. Marta Keller designed it."
BUILT = "When was the Keller Bridge opened?"
BREAD = "Rye bread is baked from a sour dough of rye flour, water and salt."


def shown(id: str, text: str, *marks: str, title: str = "") -> dict[str, object]:
    marked = {f"reader-{at}": {"value": mark, "timestamp": at} for at, mark in enumerate(marks)}
    return {"document_id": id, "text": text, "title": title, "feedback": {"relevant": marked}}


def write_mtrag(folder: Path) -> None:
    """One conversation of three turns; the first has what ELSER found and a question written out."""
    bridge, bread = shown("b-1", f"Bridges\n{BRIDGE}", "no", "yes", title="Bridges"), shown("r-1", BREAD, "no")
    turns = [
        (BUILT, "ANSWERABLE", [bridge, bread], "In 1931."),
        ("Who designed it?", "ANSWERABLE", [bridge], "Marta Keller."),
        ("What did it cost?", "UNANSWERABLE", [bread], "I do not know."),
    ]
    for part in ("clapnq", "cloud", "fiqa", "govt"):
        (folder / REWRITTEN.format(part)).parent.mkdir(parents=True)
        (folder / REWRITTEN.format(part)).touch()
    (folder / TASKS / "cloud").mkdir(parents=True)
    for number, (question, kind, contexts, said) in enumerate(turns, start=1):
        task = {
            "task_id": f"t<::>{number}",
            "conversation_id": "7",
            "turn_id": number,
            "domain": "cloud",
            "user": {"text": question, "enrichments": {"Answerability": [kind]}},
            "agent": {"text": said, "contexts": contexts},
        }
        (folder / TASKS / "cloud" / f"{number}.json").write_text(json.dumps(task), encoding="utf-8")
    written = [{"_id": f"t<::>{at}", "text": f"|user|: {turns[at - 1][0]}"} for at in (1, 2)]
    (folder / REWRITTEN.format("cloud")).write_text("\n".join(map(json.dumps, written)), encoding="utf-8")
    (folder / ELSER.format("cloud")).parent.mkdir(parents=True)
    found = {"task_id": "t<::>1", "contexts": [shown("r-1", BREAD), shown("b-1", BRIDGE)]}
    (folder / ELSER.format("cloud")).write_text(json.dumps(found), encoding="utf-8")


def write_web(folder: Path) -> None:
    """One question of the contest's sample, with a page that answers it and one that does not."""
    row = {
        "interaction_id": "db078969-dcfd-4bd3-8d07-ee8ceceebafd",
        "query": "How many feet long is the shortest highway?",
        "answer": "3,696 feet",
        "question_type": "simple",
        "search_results": [
            {"page_result": f"<html><title>{title}</title><body><p>{text}</p></body></html>"}
            for title, text in (("Roads", "The shortest highway is I-878. It is 3,696 feet long."), ("Bread", BREAD))
        ],
    }
    (folder / web_pages.SAMPLE).parent.mkdir(parents=True)
    (folder / web_pages.SAMPLE).write_bytes(bz2.compress(json.dumps(row).encode()))


def test_the_latest_mark_says_whether_a_text_is_relevant(tmp_path: Path) -> None:
    write_mtrag(tmp_path)
    body = mtrag(tmp_path, 0)
    first, second, third = sorted(body.asked, key=lambda each: each.id)
    assert first.gold == {"b-1"} and first.judged == {"b-1": True, "r-1": False}
    assert first.candidates == ("r-1", "b-1") and first.written_out == first.question
    assert second.history == (Exchange(question=first.question, answer="In 1931."),)
    assert third.kind in body.absent and not third.gold


def test_gold_texts_beyond_the_count_are_still_in_the_ideal() -> None:
    assert texts.ndcg(["a", "b"], ["a", "b"], 5) == pytest.approx(1.0)
    assert texts.ndcg(["a"], ["a", "b"], 5) == pytest.approx(1 / (1 + 0.6309297535714575))
    assert texts.ndcg(["x"] * 5 + ["a"], ["a"], 5) == 0


def test_a_line_that_a_kill_cut_short_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    Kept(path).get("a", lambda: 1)
    path.write_text(path.read_text(encoding="utf-8") + '\n["b", 2', encoding="utf-8")
    again = Kept(path)
    assert again.get("a", lambda: 9) == 1 and again.get("b", lambda: 3) == 3
    assert Kept(path).get("b", lambda: 9) == 3


# FinanceBench beside published answers: what is counted where one has what the other missed


def write_published(folder: Path, ids: Iterable[str]) -> None:
    """A checkout in which every system refused every question."""
    (folder / "results").mkdir(parents=True)
    rows = "\n".join(json.dumps({"financebench_id": id, "label": "Refusal"}) for id in ids)
    for name in filings.SYSTEMS:
        (folder / "results" / f"{name}.jsonl").write_text(rows, encoding="utf-8")


@pytest.mark.slow
def test_pages_of_the_web_answer_a_question_and_the_score_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_web(tmp_path / "data")
    monkeypatch.setattr("sys.argv", ["web_pages", "--data", str(tmp_path / "data"), "--out", str(tmp_path)])
    assert web_pages.main() == 0
    found = json.loads((tmp_path / "field_web.json").read_text("utf-8"))
    assert found["scores"]["balanced"]["value"] == found["scores"]["plain-rag"]["value"] == 1
    assert "3,696" in found["cases"][0]["balanced"]["says"]
