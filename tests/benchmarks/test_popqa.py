"""The PopQA benchmark: passages of the knowledge, what a run is given, what becomes of an answer, goals met."""

from dataclasses import replace

from benchmarks.popqa_cases import own_holds, retrieved_chunks
from crag.core.trace import Trace
from crag.core.types import Strip
from tests.benchmarks.test_headline import case


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
