"""How a run came in, in words."""

from dataclasses import replace

import pytest

from crag.core.trace import Round, Trace
from crag.core.types import RetrievedChunk, Strip
from crag.messages.answers import handed_sentence, lacking_sentence, origin_text, origin_word, origins_text
from crag.messages.wording import outcome_sentence
from crag.pipeline.request import named_client
from crag.testing.fakes import chunk_of

HANDED = Trace(run_id="r", question="What?", via="mcp", client="notes", wanted="evidence", finished=True)
STRIP = Strip(id="s", source_id="c", origin="internal", start=0, end=3, text="Yes", score=0.9, kept=True)


@pytest.mark.parametrize(
    ("via", "word", "text"),
    [
        ("app", "", ""),
        ("agent", "agent", "through an agent"),
        ("http", "HTTP", "through HTTP"),
        ("<b>", "another program", "through another program"),
    ],
)
def test_every_way_in_has_its_words_and_the_app_s_own_has_none(via: str, word: str, text: str) -> None:
    assert (origin_word(via), origin_text(via)) == (word, text)
    assert origin_text(via, "x” y") == (f'{text} (calls itself “x" y”)' if text else "")


def test_the_ways_of_several_runs_are_each_told_once() -> None:
    assert origins_text(["app", "agent", "mcp", "agent", "http"]) == "through an agent, through MCP and through HTTP"
    assert (origins_text(["cli", ""]), origins_text(["", "app"])) == ("from the command line", "")


def test_a_program_s_name_is_one_short_line_that_steers_nothing() -> None:
    assert named_client("a\n\x1b[2J\u202eb\u200b \ud800<b>") == "a [2Jb <b>" and len(named_client("x " * 10_000)) < 61


def test_evidence_that_was_handed_over_is_told_so_and_can_be_followed_on() -> None:
    kept = replace(HANDED, strips={"c": (STRIP,)})
    assert handed_sentence(kept) == (
        "The evidence was handed to the program that asked through MCP, which writes the answer itself."
    )
    assert handed_sentence(HANDED).startswith("Nothing found was good enough to be handed to")
    assert outcome_sentence(kept) == "Plain RAG: nothing was graded. Handed over 1 chunk from your documents."
    assert kept.exchange is not None and (kept.exchange.question, kept.exchange.answer) == ("What?", "")
    for other in (Trace(finished=True), replace(kept, cancelled=True), replace(kept, finished=False)):
        assert not handed_sentence(other) and other.exchange is None


def test_a_run_over_another_store_is_told_from_one_over_the_library() -> None:
    for other in (True, False):
        chunk = replace(chunk_of("Yes"), elsewhere=other)
        found = Round(query="q", chunks=(RetrievedChunk(chunk=chunk, rank=1, similarity=1.0),))
        trace = replace(HANDED, rounds=(found,), strips={chunk.id: (replace(STRIP, source_id=chunk.id),)})
        assert (trace.elsewhere, bool(lacking_sentence(trace))) == (other, other)
        assert ("another store" in outcome_sentence(trace)) is other and trace.documents == (
            () if other else ("paper.pdf",)
        )
