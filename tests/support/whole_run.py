"""Whole runs with everything in them, hostile text included, for tests of what is drawn."""

from dataclasses import replace

from crag.core import events as ev
from crag.core.errors import NotApprovedError, ProviderError, UnreachableError
from crag.core.settings import Settings
from crag.core.types import (
    Action,
    Aggregation,
    Answer,
    Call,
    Chunk,
    Citation,
    Decision,
    Grade,
    RetrievedChunk,
    SentenceCheck,
    Strip,
    Unread,
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
        query=f"web {NASTY}",
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
        ev.ActionTaken(decision=decision, at=0.04),
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
                SentenceCheck(sentence="Something else.", citations=(2,), supported=False, note="scored", by="local-3"),
            ),
            faithfulness=0.5,
            at=0.11,
        ),
        ev.RunFinished(at=0.12),
    ]


QWEN = "openai-compatible:qwen@127.0.0.1:8080"
GRADER = f"llm:{QWEN}:1"
BUSY = "allows no more requests at present (status 429)."


def page(number: int, text: str, *, fetched: bool) -> WebPage:
    return WebPage(
        id=f"w{number}",
        url=f"https://example.org/{number}",
        title=f"Page {number}",
        text=text,
        provider="tavily",
        query=f"bridge opened {NASTY}",
        rank=number,
        fetched=fetched,
    )


def asked_outside() -> list[ev.Event]:
    """The beginning of a run with outside services: a model that gives up grading, up to the query that waits."""
    found = tuple(
        RetrievedChunk(chunk=chunk(number, text), rank=number + 1, similarity=0.9 - number / 10)
        for number, text in enumerate(("Kept words. Dropped words.", "Second chunk.", "Third chunk."))
    )
    decision = Decision(
        action=Action.AMBIGUOUS,
        deciding_id="c0",
        score=0.35,
        upper=0.4,
        lower=0.2,
        aggregation=Aggregation.ANY,
        graded=3,
    )
    return [
        ev.RunStarted(
            run_id="o",
            question="When was the bridge opened?",
            strategy="balanced",
            settings=Settings().model_dump(mode="json"),
            workspace="default",
            started_at="2026-11-21T17:20:00+00:00",
        ),
        ev.StepStarted(step="retrieve", at=0.0),
        ev.Retrieved(query="q", chunks=found, at=0.01),
        ev.StepFinished(step="retrieve", seconds=0.01, at=0.01),
        ev.StepStarted(step="evaluate", at=0.01),
        ev.Graded(grade=Grade(passage_id="c0", score=0.35, reason="names it", evaluator=GRADER, seconds=1.2), at=0.1),
        ev.Called(
            call=Call(step="evaluate", provider="openai-compatible", model="qwen", seconds=0.1, error=BUSY, who=QWEN),
            at=1,
        ),
        ev.Failed.of(ProviderError(BUSY, "Wait.", who=QWEN), "evaluate", 1, "local evaluator", "local-3"),
        *(
            ev.Graded(
                grade=Grade(passage_id=id, score=0.1, evaluator="local-3", instead_of=GRADER, why=BUSY, who=QWEN), at=1
            )
            for id in ("c1", "c2")
        ),
        ev.StepFinished(step="evaluate", seconds=1.0, at=1.01),
        ev.StepStarted(step="act", at=1.01),
        ev.ActionTaken(decision=decision, at=1.01),
        ev.StepFinished(step="act", seconds=0.0, at=1.01),
        ev.StepStarted(step="refine", at=1.02),
        ev.Refined(
            source_id="c0",
            origin="internal",
            strips=(
                replace(strip("c0", "internal", 0, "Kept words.", 0.3, True), selected=True),
                replace(strip("c0", "internal", 12, "Dropped words.", 0.3, False), selected=False),
            ),
            at=1.03,
        ),
        ev.StepFinished(step="refine", seconds=0.01, at=1.03),
        ev.StepStarted(step="rewrite", at=1.03),
        ev.Rewritten(question="q", query=f"bridge opened {NASTY}", purpose="web", by=QWEN, at=1.1),
        ev.StepFinished(step="rewrite", seconds=0.07, at=1.1),
        ev.StepStarted(step="search", at=1.1),
        ev.ApprovalAsked(query=f"bridge opened {NASTY}", provider="tavily", at=1.1),
    ]


def approved() -> list[ev.Event]:
    """The same run to its end: the query is sent, one page can't be read, the model writes and is checked."""
    pages = (page(1, "Web words here.", fetched=True), page(2, "Other words.", fetched=False))
    whole = Answer(
        text="The bridge was opened in 1890 [1]. It is long [2]. It is red [9]. It stands.",
        by=QWEN,
        low_confidence=True,
        citations=(cited(1, "c0", "internal", page=4), cited(2, "w1", "external")),
    )
    checks = (
        SentenceCheck(sentence="The bridge was opened in 1890.", citations=(1,), supported=True, score=0.9),
        SentenceCheck(sentence="It is long.", citations=(2,), supported=False, score=0.2, note="scored", by=GRADER),
        SentenceCheck(sentence="It is red.", citations=(9,), supported=False, note="invented", invented=(9,)),
        SentenceCheck(sentence="It stands.", citations=(), supported=None, note="no citation"),
    )
    return [
        *asked_outside(),
        ev.ApprovalGiven(approved=True, at=5.0),
        ev.Searched(
            query=f"bridge opened {NASTY}",
            provider="tavily",
            pages=pages,
            problems=(Unread(name="example.org", why=f"it is too large {NASTY}"),),
            at=6.0,
        ),
        ev.StepFinished(step="search", seconds=4.9, at=6.0),
        *(ev.Graded(grade=Grade(passage_id=each.id, score=0.6), origin="external", at=6.1) for each in pages),
        ev.Refined(
            source_id="w1",
            origin="external",
            strips=(strip("w1", "external", 0, "Web words here.", 0.6, True),),
            at=6.1,
        ),
        ev.StepStarted(step="answer", at=6.2),
        *(ev.Token(text=piece, at=6.3) for piece in ("The bridge was opened in 1890 [1", "]. It is")),
        ev.Answered(answer=whole, at=6.4),
        ev.StepFinished(step="answer", seconds=0.2, at=6.4),
        ev.StepStarted(step="verify", at=6.4),
        ev.Verified(checks=checks, faithfulness=1 / 3, at=6.5),
        ev.StepFinished(step="verify", seconds=0.1, at=6.5),
        ev.RunFinished(at=6.5),
    ]


def cited(number: int, source: str, origin: str, page: int | None = None) -> Citation:
    return Citation(
        number=number, strip_id=f"{source}:0", source_id=source, origin=origin, source=source, quote="words", page=page
    )


def refused() -> list[ev.Event]:
    """The same run after a no: nothing is sent, and the model that was to write breaks off."""
    not_sent = NotApprovedError("The query was not approved, so nothing was sent.")
    broke_off = UnreachableError("broke off in the middle.", "Check that the server runs.", who=QWEN)
    return [
        *asked_outside(),
        ev.ApprovalGiven(approved=False, at=5.0),
        ev.Failed.of(not_sent, "search", 5.0, "documents"),
        ev.StepFinished(step="search", seconds=3.9, at=5.0),
        ev.StepStarted(step="answer", at=5.0),
        ev.Token(text="The bridge", at=5.1),
        ev.Failed.of(broke_off, "answer", 5.2, "quotes", "extractive"),
        ev.Answered(
            answer=Answer(
                text="Kept words [1].", by="extractive", citations=(cited(1, "c0", "internal", 4),), instead_of=QWEN
            ),
            at=5.3,
        ),
        ev.StepFinished(step="answer", seconds=0.3, at=5.3),
        ev.RunFinished(at=5.3),
    ]
