"""A whole run with everything in it, hostile text included, for tests of what is drawn."""

from crag.core import events as ev
from crag.core.settings import Settings
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

NASTY = "<img src=x onerror=alert(1)>"


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
