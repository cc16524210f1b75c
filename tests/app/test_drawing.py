"""What the drawing functions make of a trace at every moment of a run."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from crag.core import events as ev
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import (
    Action,
    Aggregation,
    Answer,
    Chunk,
    Citation,
    Decision,
    Grade,
    RetrievedChunk,
    SentenceCheck,
    Strip,
    WebPage,
)
from ui import answer, evidence, export, path

NASTY = "<img src=x onerror=alert(1)>"


class Inspector(HTMLParser):
    """Collects tags, attributes and text; a hostile value shows up as an unexpected tag or handler."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.said = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in ("br", "meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes nothing: {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.said += data


def chunk(number: int, text: str) -> Chunk:
    return Chunk(
        id=f"c{number}",
        document_id="d",
        source=f"report{NASTY}.pdf",
        title="t",
        page=number + 3,
        ordinal=number,
        start=0,
        end=len(text),
        text=text,
    )


def strip(source: str, origin: str, start: int, text: str, score: float | None, kept: bool) -> Strip:
    return Strip(
        id=f"{source}:{start}",
        source_id=source,
        origin=origin,
        start=start,
        end=start + len(text),
        text=text,
        score=score,
        kept=kept,
    )


def events() -> list[ev.Event]:
    """A whole AMBIGUOUS run with everything in it: a failed grade, a retry, the web, a flagged sentence."""
    first, second = "Kept words. Dropped words.", f"Second {NASTY} chunk."
    found = tuple(
        RetrievedChunk(chunk=chunk(number, text), rank=number + 1, similarity=0.9 - number / 10)
        for number, text in enumerate((first, second, "Third chunk."))
    )
    page = WebPage(
        id="w1",
        url="https://example.org/a",
        title=f"Page {NASTY}",
        text="Web words here.",
        provider="folder",
        query="web words",
        rank=1,
        published="2019-05-01",
    )
    cited = strip("c0", "internal", 0, "Kept words.", 0.83, True)
    decision = Decision(
        action=Action.AMBIGUOUS,
        deciding_id="c0",
        score=0.58,
        upper=0.7,
        lower=0.3,
        aggregation=Aggregation.ANY,
        graded=2,
        unknown=1,
    )
    whole = Answer(
        text="Kept words. [1] Something else. [2] A stray [9].",
        by="extractive",
        citations=(
            Citation(
                number=1,
                strip_id=cited.id,
                source_id="c0",
                origin="internal",
                source="report.pdf",
                quote="Kept",
                page=3,
            ),
            Citation(
                number=2,
                strip_id="w1:0",
                source_id="w1",
                origin="external",
                source=NASTY,
                quote="Web words",
                url="https://example.org/a",
            ),
        ),
    )
    return [
        ev.RunStarted(
            run_id="r",
            question=f"Why {NASTY}?",
            strategy="balanced",
            settings=Settings().model_dump(mode="json"),
            workspace="default",
            started_at="2026-01-01T00:00:00+00:00",
        ),
        ev.StepStarted(step="retrieve", at=0.0),
        ev.Retrieved(query="q", chunks=found, at=0.01),
        ev.StepFinished(step="retrieve", seconds=0.01, at=0.01),
        ev.StepStarted(step="evaluate", at=0.01),
        ev.Graded(grade=Grade(passage_id="c0", score=0.58, reason="names it", evaluator="local"), at=0.02),
        ev.Graded(grade=Grade(passage_id="c1", score=None, error="timed out"), at=0.03),
        ev.Graded(grade=Grade(passage_id="c2", score=0.1), at=0.04),
        ev.StepFinished(step="evaluate", seconds=0.03, at=0.04),
        ev.StepStarted(step="act", at=0.04),
        ev.ActionTaken(decision=decision, sentence="AMBIGUOUS: …", at=0.04),
        ev.StepFinished(step="act", seconds=0.0, at=0.04),
        ev.StepStarted(step="rewrite", at=0.05),
        ev.Rewritten(question="q", query="web words", purpose="web", by="keywords", at=0.05),
        ev.StepFinished(step="rewrite", seconds=0.0, at=0.05),
        ev.StepStarted(step="search", at=0.05),
        ev.Searched(query=f"web {NASTY}", provider="folder", pages=(page,), at=0.06),
        ev.StepFinished(step="search", seconds=0.01, at=0.06),
        ev.Graded(grade=Grade(passage_id="w1", score=0.91), origin="external", at=0.07),
        ev.Refined(
            source_id="c0",
            origin="internal",
            strips=(cited, strip("c0", "internal", 12, "Dropped words.", 0.12, False)),
            at=0.08,
        ),
        ev.Refined(
            source_id="w1",
            origin="external",
            strips=(strip("w1", "external", 0, "Web words here.", 0.9, True),),
            at=0.08,
        ),
        ev.StepStarted(step="answer", at=0.08),
        ev.Token(text="Kept words.", at=0.09),
        ev.Answered(answer=whole, at=0.1),
        ev.StepFinished(step="answer", seconds=0.02, at=0.1),
        ev.Verified(
            checks=(
                SentenceCheck(sentence="Kept words.", citations=(1,), supported=True, score=0.9),
                SentenceCheck(sentence="Something else.", citations=(2,), supported=False, note="not in the source"),
            ),
            faithfulness=0.5,
            at=0.11,
        ),
        ev.RunFinished(at=0.12),
    ]


def drawn(trace: Trace) -> str:
    view = evidence.View.of(trace)
    return "".join(
        (
            answer.question(trace),
            path.path(trace),
            path.action(trace),
            answer.answer(trace),
            answer.sources(trace, 1),
            evidence.chunks(trace, view),
            evidence.web(trace, view),
            path.meter(trace),
        )
    )


@pytest.mark.parametrize("length", range(1, len(events()) + 1))
def test_every_moment_of_a_run_draws_well_formed_and_inert(length):
    seen = Inspector(drawn(Trace.from_events(events()[:length])))
    assert not seen.open and "img" not in seen.tags and "script" not in seen.tags
    assert not [name for name, _ in seen.attributes if name.startswith("on")]


def test_the_path_lights_the_active_step_and_dims_skipped_ones():
    live = path.path(Trace.from_events(events()[:6]))
    assert '<li class="active" aria-current="step">Evaluate' in live and '<li class="waiting">Answer' in live
    over = path.path(Trace.from_events(events()))
    assert '<li class="done">Evaluate<span class="t">30 ms' in over and '<li class="skipped">Refine' in over


def test_the_action_is_icon_word_and_sentence():
    said = path.action(Trace.from_events(events()))
    assert 'class="action ambiguous"' in said and "≈" in said and '<span class="word">AMBIGUOUS</span>' in said
    text = Inspector(said).said
    assert "the best chunk scored 0.58, between 0.30 and 0.70" in text and "1 of 2 strips" in text
    assert "Grading: 1 of 3 chunks" in path.action(Trace.from_events(events()[:6]))


def test_scores_stand_against_both_thresholds_and_a_failed_grade_is_its_own_state():
    trace = Trace.from_events(events())
    said = evidence.chunks(trace, evidence.View.of(trace))
    assert 'style="width:58.0%"' in said and 'style="left:30.00%"' in said and 'style="left:70.00%"' in said
    assert said.count("decided</span>") == 1 and said.index("decided</span>") < said.index("p. 4")
    assert "? grade failed" in said and "timed out" in said
    waiting = evidence.chunks(Trace.from_events(events()[:3]), evidence.View(upper=0.7, lower=0.3))
    assert waiting.count("waiting…") == 3


def test_strips_are_marked_kept_or_dropped_with_their_score():
    trace = Trace.from_events(events())
    said = evidence.chunks(trace, evidence.View.of(trace))
    assert '<mark title="score 0.83, kept">Kept words.</mark>' in said
    assert '<s title="score 0.12, dropped">Dropped words.</s>' in said
    other = evidence.View(upper=0.7, lower=0.3, kept={"c0": {"c0:12"}})
    assert '<mark title="score 0.12, kept">Dropped words.</mark>' in evidence.chunks(trace, other)


def test_web_sources_show_the_query_as_sent_and_open_in_a_new_tab():
    trace = Trace.from_events(events())
    said = evidence.web(trace, evidence.View.of(trace))
    assert '<a href="https://example.org/a" target="_blank" rel="noopener noreferrer">' in said
    assert "2019-05-01" in said and "WEB" in said and f"web {NASTY}" in Inspector(said).said


def test_a_long_page_is_cut_to_what_was_kept_and_the_cited_strip_is_framed():
    sentences = [f"Sentence number {number} of a long page with words." for number in range(400)]
    whole, strips, at = " ".join(sentences), [], 0
    for number, sentence in enumerate(sentences):
        strips.append(strip("w1", "external", at, sentence, 0.9 if number in (200, 300) else 0.1, number in (200, 300)))
        at += len(sentence) + 1
    said = evidence.surroundings(whole, strips, evidence.View(upper=0.7, lower=0.3), strips[200].id)
    assert said.count("<mark") == 2 and said.count('class="cited"') == 1 and len(said) < 4000
    assert "number 197 " in said and "number 203 " in said and "number 204 " not in said and "number 196 " not in said
    none = evidence.surroundings(whole, [], evidence.View(upper=0.7, lower=0.3))
    assert "Sentence number 0" in none and len(none) < 3500


def test_an_address_that_is_no_web_address_is_only_text():
    trace = Trace.from_events(events())
    search = trace.searches[0]
    page = replace(search.pages[0], url="javascript:alert(1)")
    trace = replace(trace, searches=(replace(search, pages=(page,)),))
    seen = Inspector(evidence.web(trace, evidence.View.of(trace)))
    assert "a" not in seen.tags and "javascript:alert(1)" in seen.said


def test_citations_are_buttons_and_only_known_ones():
    said = answer.answer(Trace.from_events(events()))
    assert 'data-pick="cite:1"' in said and 'class="cite web" data-pick="cite:2"' in said
    assert 'data-pick="cite:9"' not in said and "[9]" in said
    assert "Extractive" in said and "1 of 2 sentences supported" in said


def test_an_unsupported_sentence_is_flagged_with_its_reason():
    said = answer.answer(Trace.from_events(events()))
    assert '<span class="flagged" title="not in the source">Something else.</span>' in said and "unsupported" in said


def test_an_abstention_is_said_calmly():
    trace = Trace.from_events(
        [*events()[:12], ev.Answered(answer=Answer(text="Not said.", by="extractive", abstained=True), at=1)]
    )
    said = answer.answer(trace)
    assert "answer abstained" in said and "No answer found" in said


def test_failures_and_stops_are_told():
    start = events()[:5]
    failed = Trace.from_events(
        [*start, ev.Failed(step="evaluate", message="It broke.", remedy="Do this.", fatal=True, at=1)]
    )
    assert "It broke." in path.action(failed) and "Do this." in path.action(failed)
    assert '<li class="failed">Evaluate' in path.path(failed)
    stopped = Trace.from_events([*start, ev.Cancelled(at=1), ev.RunFinished(at=1)])
    assert "Stopped" in path.action(stopped) and '<li class="stopped">Evaluate' in path.path(stopped)


def test_the_exported_page_is_whole_and_loads_nothing():
    trace = Trace.from_events(events())
    made = export.page(trace)
    seen = Inspector(made)
    assert not seen.open and "script" not in seen.tags and "link" not in seen.tags and "AMBIGUOUS" in seen.said
    assert "default-src 'none'" in made and not [name for name, _ in seen.attributes if name == "src"]
    assert export.file_name(trace, "html") == "crag-why-img-src-x-onerror-alert.html"
