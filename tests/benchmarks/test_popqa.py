"""The PopQA benchmark: passages of the knowledge, what a run is given, what becomes of an answer, goals met."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from benchmarks.popqa_cases import Case, own_holds, retrieved_chunks
from benchmarks.popqa_figures import Found, condition_figures, fate
from benchmarks.popqa_report import goals
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.questions.sets import Question
from crag.core.trace import Trace
from crag.core.types import Action, Strip
from crag.testing.fakes import chunk_of

INSIDE = "Jane Doe, who was born in Bergen in 1901, wrote novels and short stories for fifty years."
ONLINE = "Jane Doe: Jane Doe was born in Oslo, as her own letters to the press say."


def case(id: str = "1", *, answers: Sequence[str] = ("Bergen",), web: Sequence[str] = (ONLINE,)) -> Case:
    return Case(
        Question(id=id, question="Where was Jane Doe born?", answers=tuple(answers)), (chunk_of(INSIDE),), tuple(web)
    )


def row(id: str = "1", **values: object) -> ResultRow:
    return ResultRow(question_id=id, question="?", **values)  # type: ignore[arg-type]


def test_retrieved_passages_come_best_first_which_is_the_data_s_last_rank() -> None:
    texts = [{"rank": rank, "title": f"Title {rank}", "text": f"Text {rank}"} for rank in (1, 2, 3)]
    found = retrieved_chunks("7", texts)
    assert [chunk.graded_text() for chunk in found] == ["Title 3\nText 3", "Title 2\nText 2", "Title 1\nText 1"]
    assert len({chunk.id for chunk in found}) == 3


def test_what_another_question_s_passages_hold_is_not_its_own() -> None:
    kept = Strip(
        id="s", source_id="popqa-1-0", origin="internal", start=0, end=5, text="In Bergen", score=0.9, kept=True
    )
    theirs, online = replace(kept, source_id="popqa-11-0"), replace(kept, source_id="web", origin="external")
    found = [own_holds(Trace(strips={strip.source_id: (strip,)}), case()) for strip in (kept, theirs, online)]
    assert found == [True, False, True]


@pytest.mark.parametrize(
    ("found", "online", "wanted"),
    [
        (row(evidence_answer=True, acted_holds=True), True, "kept"),
        (row(evidence_answer=False, acted_holds=False), False, "nowhere"),
        (row(evidence_answer=False, acted_holds=True, action=Action.INCORRECT), True, "documents discarded"),
        (row(evidence_answer=False, acted_holds=False, action=Action.CORRECT), True, "web not searched"),
        (row(evidence_answer=False, acted_holds=False, searches=1), True, "lost in refinement"),
        (row(evidence_answer=False, acted_holds=True, action=Action.CORRECT), False, "lost in refinement"),
    ],
)
def test_what_became_of_an_answer(found: ResultRow, online: bool, wanted: str) -> None:
    assert fate(found, online) == wanted


def test_a_goal_is_met_only_with_more_answers_in_no_more_words() -> None:
    cases = [case(str(number)) for number in range(40)]

    def rows(name: str, kept: int, words: int) -> list[Found]:
        return [
            Found(row(each.question.id, strategy=name, evidence_answer=place < kept, evidence_words=words), True)
            for place, each in enumerate(cases)
        ]

    def verdicts(kept: int, words: int) -> set[str]:
        by_strategy = {"balanced": rows("balanced", kept, words), "paper": rows("paper", 20, 100)}
        found = {"given": {"parts": condition_figures(by_strategy, cases)}}
        return {verdict for *_, verdict in goals(found)}

    assert verdicts(20, 50) == {"**missed**: not ahead"}
    assert verdicts(40, 101) == {"**missed**: more text"}
    assert verdicts(40, 100) == {"met"}
