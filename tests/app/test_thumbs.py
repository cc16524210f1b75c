"""Thumbs on chunks: how they are drawn, what a click stores, and what a made-up click is told."""

from dataclasses import dataclass, replace

import pytest

from crag.core.errors import InputError
from crag.core.trace import Trace
from crag.engine import Engine
from crag.export.html import evidence
from crag.export.html.passage import View
from crag.storage.library import Library
from tests.support.inspector import Inspector
from tests.support.whole_run import NASTY, events
from ui.app.program import program
from ui.run import parts


@dataclass
class OfThis:
    """As much of a session as a label needs."""

    library: Library

    def require(self, act: str) -> None:
        """Everybody may."""


def pressed(html: str) -> list[str]:
    """The data-pick of each button, with + where it is pressed."""
    seen = Inspector(html)
    names = [value for name, value in seen.attributes if name == "data-pick" and str(value).startswith("label:")]
    states = [value for name, value in seen.attributes if name == "aria-pressed"]
    return [f"{name}{'+' if state == 'true' else ''}" for name, state in zip(names, states, strict=True)]


def test_each_chunk_has_two_buttons_that_say_what_they_are_for() -> None:
    trace = Trace.from_events(events())
    drawn = evidence.chunks(trace, replace(View.of(trace), thumbs={"c1": "irrelevant"}))
    assert pressed(drawn) == [
        *("label:relevant:c0", "label:irrelevant:c0"),
        *("label:relevant:c1", "label:irrelevant:c1+"),
        *("label:relevant:c2", "label:irrelevant:c2"),
    ]
    said = [value for name, value in Inspector(drawn).attributes if name == "aria-label"]
    assert "Relevant for this question: chunk 1, page 3" in said and "Your rating of chunk 2" in said
    assert NASTY not in drawn


def test_a_click_stores_another_replaces_and_the_same_again_takes_back(with_sample) -> None:
    engine: Engine = program().engine
    trace = Trace.from_events(engine.ask("What average premium increase was negotiated?"))
    session = OfThis(engine.library())
    chunk = trace.rounds[0].chunks[0].chunk.id

    def after(click: str) -> dict[str, str]:
        parts.toggle(session, trace, click)
        return parts.labels_of(session, trace.question)

    assert after(f"relevant:{chunk}") == {chunk: "relevant"}
    assert after(f"irrelevant:{chunk}") == {chunk: "irrelevant"}
    assert after(f"irrelevant:{chunk}") == {}
    assert parts.labels_of(session, "Another question?") == {}


@pytest.mark.parametrize("click", ["relevant:nothing", "splendid:c0", "c0", ""])
def test_a_made_up_click_is_refused_in_words(with_sample, click) -> None:
    trace = Trace.from_events(events())
    with pytest.raises(InputError, match="no such chunk"):
        parts.toggle(OfThis(program().engine.library()), trace, click)
