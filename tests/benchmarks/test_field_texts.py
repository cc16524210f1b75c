"""MTRAG and EnterpriseRAG-Bench in small, made up in the form of their files: what is read, and what is measured."""

import bz2
import gzip
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from benchmarks.field import filings, summary, texts, web_pages
from benchmarks.field.bodies import CONTEXTS, ELSER, REWRITTEN, TASKS, enterprise, mtrag
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


def write_enterprise(folder: Path) -> None:
    """Two questions, one with a gold text that no text here is, and the texts as the run's contexts hold them."""
    blocks = [
        f"[document {at} | source=slack | title=T {at} | id=dsid_{at}]\n{text}"
        for at, text in ((1, BRIDGE), (2, BREAD))
    ]
    (folder / CONTEXTS).parent.mkdir(parents=True)
    with gzip.open(folder / CONTEXTS, "wt", encoding="utf-8") as file:
        file.write(json.dumps({"question_id": "q1", "context": "\n\n=====\n\n".join(blocks)}) + "\n")
    questions = [
        {"question_id": "q1", "question_type": "basic", "question": BUILT, "expected_doc_ids": ["dsid_1", "dsid_9"]},
        {"question_id": "q2", "question_type": "info_not_found", "question": "Why?", "expected_doc_ids": []},
    ]
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, questions)), encoding="utf-8")


def test_the_latest_mark_says_whether_a_text_is_relevant(tmp_path: Path) -> None:
    write_mtrag(tmp_path)
    body = mtrag(tmp_path, 0)
    first, second, third = sorted(body.asked, key=lambda each: each.id)
    assert first.gold == {"b-1"} and first.judged == {"b-1": True, "r-1": False}
    assert first.candidates == ("r-1", "b-1") and first.written_out == first.question
    assert second.history == (Exchange(question=first.question, answer="In 1931."),)
    assert third.kind in body.absent and not third.gold


def test_a_title_that_opens_the_text_too_stands_once(tmp_path: Path) -> None:
    write_mtrag(tmp_path)
    assert mtrag(tmp_path, 0).texts["b-1"].titled == f"Bridges\n{BRIDGE}"


def test_turns_that_something_is_missing_for_are_all_taken(tmp_path: Path) -> None:
    write_mtrag(tmp_path)
    assert [each.kind for each in mtrag(tmp_path, 2).asked] == ["unanswerable", "answerable"]


def test_gold_ids_of_no_text_are_counted(tmp_path: Path) -> None:
    write_enterprise(tmp_path)
    body = enterprise(tmp_path, 0)
    assert {id: text.title for id, text in body.texts.items()} == {"dsid_1": "T 1", "dsid_2": "T 2"}
    assert body.lost == 1 and body.texts["dsid_1"].text == BRIDGE
    assert body.asked[0].judged == {"dsid_1": True, "dsid_2": False} and body.asked[1].kind in body.absent


@pytest.mark.parametrize("name", ["mtrag", "enterprise"])
def test_without_the_data_it_says_where_it_is_had(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["texts", "--body", name, "--data", str(tmp_path)])
    assert texts.main() == 2
    assert "github.com/" in capsys.readouterr().err


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "write", "row"),
    [
        ("mtrag", write_mtrag, "| as asked: CRAG Explorer | 1.00 (1.00–1.00) | 1.00 "),
        ("enterprise", write_enterprise, "| as asked: CRAG Explorer | 0.61 "),
    ],
)
def test_a_stopped_command_goes_on_and_says_the_same(
    name: str,
    write: Callable[[Path], None],
    row: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(tmp_path / "data")
    options = ["--body", name, "--data", str(tmp_path / "data"), "--cache", str(tmp_path), "--out", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["texts", *options])
    assert texts.main() == 0
    page = capsys.readouterr().out
    assert row in page
    assert texts.main() == 0
    again = capsys.readouterr()
    assert again.out == page and "added" not in again.err


# FinanceBench beside published answers: what is counted where one has what the other missed


def write_published(folder: Path, ids: Iterable[str]) -> None:
    """A checkout in which every system refused every question."""
    (folder / "results").mkdir(parents=True)
    rows = "\n".join(json.dumps({"financebench_id": id, "label": "Refusal"}) for id in ids)
    for name in filings.SYSTEMS:
        (folder / "results" / f"{name}.jsonl").write_text(rows, encoding="utf-8")


def row(id: str, said: str, page: bool) -> dict[str, object]:
    return {
        "id": id,
        "document": "A",
        "rank": 1,
        "action": "CORRECT",
        "kind": "k",
        "said": said,
        "page": page,
        "low": not page,
    }


def test_what_one_has_and_the_other_missed_is_counted() -> None:
    rows = [row("a", "right", True), row("b", "other", True), row("c", "other", False), row("d", "refused", False)]
    theirs = {"a": "refused", "b": "wrong", "c": "right", "d": "right"}
    found = filings.compare(rows, dict.fromkeys(filings.SYSTEMS, theirs))
    assert found["confident"] == {"right": 1, "other": 1}
    system = found["systems"]["gpt-4_sharedStore"]
    assert (system["page_where_missed"]["value"], system["page_where_missed"]["of"]) == (1.0, 2)
    assert system["no_page_where_right"]["value"] == 1.0
    assert (system["only_ours"], system["only_theirs"]) == (1, 2)
    assert system["ours_less_theirs"]["value"] == pytest.approx(-0.25)
    assert [each["value"] for each in found["kinds"]["k"].values()] == [0.25] + [0.5] * len(filings.SYSTEMS)


def test_labels_of_people_are_read(tmp_path: Path) -> None:
    write_published(tmp_path, ["a"])
    assert filings.read_labels(tmp_path / "results" / "gpt-4_sharedStore.jsonl") == {"a": "refused"}


def test_without_published_answers_it_says_where_they_are_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["filings", "--published", str(tmp_path), "--data", str(tmp_path)])
    assert filings.main() == 2
    assert "patronus-ai/financebench" in capsys.readouterr().err


# The page over all tables beside the field: who is called ahead, and what is said of a table that is not there


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(-0.2, -0.1, "ahead"), (0.1, 0.2, "**behind**"), (-0.1, 0.1, "no difference shown"), (None, None, "–")],
)
def test_only_an_interval_without_0_puts_a_side_ahead(low: float | None, high: float | None, said: str) -> None:
    assert summary.verdict({"value": 0.0, "low": low, "high": high}) == said


def test_a_table_that_is_not_there_is_named_with_the_place_of_its_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(summary.RESULTS / "field_filings.json", tmp_path)
    monkeypatch.setattr("sys.argv", ["summary", "--results", str(tmp_path)])
    assert summary.main() == 0
    page = (tmp_path / "field.md").read_text(encoding="utf-8")
    assert capsys.readouterr().out.strip() == page.strip()
    assert "field_mtrag: not measured here. Its data: github.com/" in page and "nDCG@10 of the search" not in page


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


def test_the_committed_page_has_the_committed_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in summary.SOURCES:
        if (source := summary.RESULTS / f"{name}.json").is_file():
            shutil.copy(source, tmp_path)
    monkeypatch.setattr("sys.argv", ["summary", "--results", str(tmp_path)])
    assert summary.main() == 0
    assert (tmp_path / "field.md").read_text("utf-8") == (summary.RESULTS / "field.md").read_text("utf-8")


def test_what_is_less_theirs_is_turned_into_less_ours() -> None:
    results = json.loads((summary.RESULTS / "field_filings.json").read_text(encoding="utf-8"))
    assert "**behind**" in summary.page({"field_filings": results}, "")
