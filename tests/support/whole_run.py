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
    place = {"document_id": "d", "source": f"report{NASTY}.pdf", "title": "t", "page": number + 3, "ordinal": number}
    return Chunk(id=f"c{number}", start=0, end=len(text), text=text, **place)


def strip(source: str, origin: str, start: int, text: str, score: float | None, kept: bool) -> Strip:
    place = {"id": f"{source}:{start}", "source_id": source, "origin": origin, "start": start, "end": start + len(text)}
    return Strip(text=text, score=score, kept=kept, **place)


def cited(number: int, of: str, origin: str, page: int | None = None, quote: str = "words", **more) -> Citation:
    """A citation of the first strip of a source; `more`: what else is said of it, its name if that is another."""
    whose = {"strip_id": f"{of}:0", "source_id": of, "source": of, **more}
    return Citation(number=number, origin=origin, quote=quote, page=page, **whose)


def step(name: str, began: float, ended: float, *inside: ev.Event) -> list[ev.Event]:
    """A step from its beginning to its end, with what happens in it."""
    seconds = round(ended - began, 2)
    return [ev.StepStarted(step=name, at=began), *inside, ev.StepFinished(step=name, seconds=seconds, at=ended)]


def first_steps(run: str, question: str, at: str, texts: tuple[str, str, str]) -> list[ev.Event]:
    """A run that began and retrieved these texts."""
    settings = Settings().model_dump(mode="json")
    found = tuple(
        RetrievedChunk(chunk=chunk(number, text), rank=number + 1, similarity=0.9 - number / 10)
        for number, text in enumerate(texts)
    )
    started = {"strategy": "balanced", "settings": settings, "workspace": "default", "started_at": at}
    return [
        ev.RunStarted(run_id=run, question=question, **started),
        *step("retrieve", 0.0, 0.01, ev.Retrieved(query="q", chunks=found, at=0.01)),
    ]


def ambiguous(
    score: float, upper: float, lower: float, graded: int, unknown: int = 0, at: float = 0.0
) -> ev.ActionTaken:
    known = {"score": score, "upper": upper, "lower": lower, "graded": graded, "unknown": unknown}
    decision = Decision(action=Action.AMBIGUOUS, deciding_id="c0", aggregation=Aggregation.ANY, **known)
    return ev.ActionTaken(decision=decision, at=at)


def refined(source: str, origin: str, at: float, *strips: Strip) -> ev.Refined:
    return ev.Refined(source_id=source, origin=origin, strips=strips, at=at)


def events() -> list[ev.Event]:
    """A whole AMBIGUOUS run with everything in it: a failed grade, a retry, the web, a flagged sentence."""
    address = "https://example.org/a"
    page = WebPage(
        **{"id": "w1", "url": address, "title": f"Page {NASTY}", "text": "Web words here.", "provider": "folder"},
        **{"query": f"web {NASTY}", "rank": 1, "published": "2019-05-01"},
    )
    whole = Answer(
        text="Kept words. [1] Something else. [2] A stray [9].",
        by="extractive",
        citations=(
            cited(1, "c0", "internal", 3, "Kept", source="report.pdf"),
            cited(2, "w1", "external", None, "Web words", source=NASTY, url=address),
        ),
    )
    checks = (
        SentenceCheck(sentence="Kept words.", citations=(1,), supported=True, score=0.9),
        SentenceCheck(sentence="Something else.", citations=(2,), supported=False, note="scored", by="local-3"),
    )
    kept, dropped = ("Kept words.", 0.83, True), ("Dropped words.", 0.12, False)
    return [
        *first_steps(
            *("r", f"Why {NASTY}?", "2026-01-01T00:00:00+00:00"),
            ("Kept words. Dropped words.", f"Second {NASTY} chunk.", "Third chunk."),
        ),
        *step(
            *("evaluate", 0.01, 0.04),
            ev.Graded(grade=Grade(passage_id="c0", score=0.58, reason="names it", evaluator="local"), at=0.02),
            ev.Graded(grade=Grade(passage_id="c1", score=None, error="timed out"), at=0.03),
            ev.Graded(grade=Grade(passage_id="c2", score=0.1), at=0.04),
        ),
        *step("act", 0.04, 0.04, ambiguous(0.58, 0.7, 0.3, 2, 1, at=0.04)),
        *step(
            "rewrite", 0.05, 0.05, ev.Rewritten(question="q", query="web words", purpose="web", by="keywords", at=0.05)
        ),
        *step("search", 0.05, 0.06, ev.Searched(query=f"web {NASTY}", provider="folder", pages=(page,), at=0.06)),
        ev.Graded(grade=Grade(passage_id="w1", score=0.91), origin="external", at=0.07),
        refined("c0", "internal", 0.08, strip("c0", "internal", 0, *kept), strip("c0", "internal", 12, *dropped)),
        refined("w1", "external", 0.08, strip("w1", "external", 0, "Web words here.", 0.9, True)),
        *step("answer", 0.08, 0.1, ev.Token(text="Kept words.", at=0.09), ev.Answered(answer=whole, at=0.1)),
        ev.Verified(checks=checks, faithfulness=0.5, at=0.11),
        ev.RunFinished(at=0.12),
    ]


QWEN = "openai-compatible:qwen@127.0.0.1:8080"
GRADER = f"llm:{QWEN}:1"
BUSY = "allows no more requests at present (status 429)."


def page(number: int, text: str, *, fetched: bool) -> WebPage:
    found = {"id": f"w{number}", "url": f"https://example.org/{number}", "title": f"Page {number}", "rank": number}
    return WebPage(text=text, provider="tavily", query=f"bridge opened {NASTY}", fetched=fetched, **found)


def asked_outside() -> list[ev.Event]:
    """The beginning of a run with outside services: a model that gives up grading, up to the query that waits."""
    called = Call(step="evaluate", provider="openai-compatible", model="qwen", seconds=0.1, error=BUSY, who=QWEN)
    grade = Grade(passage_id="c0", score=0.35, reason="names it", evaluator=GRADER, seconds=1.2)
    instead = {"score": 0.1, "evaluator": "local-3", "instead_of": GRADER, "why": BUSY, "who": QWEN}
    query = f"bridge opened {NASTY}"
    return [
        *first_steps(
            *("o", "When was the bridge opened?", "2026-11-21T17:20:00+00:00"),
            ("Kept words. Dropped words.", "Second chunk.", "Third chunk."),
        ),
        *step(
            *("evaluate", 0.01, 1.01),
            ev.Graded(grade=grade, at=0.1),
            ev.Called(call=called, at=1),
            ev.Failed.of(ProviderError(BUSY, "Wait.", who=QWEN), "evaluate", 1, "local evaluator", "local-3"),
            *(ev.Graded(grade=Grade(passage_id=id, **instead), at=1) for id in ("c1", "c2")),
        ),
        *step("act", 1.01, 1.01, ambiguous(0.35, 0.4, 0.2, 3, at=1.01)),
        *step(
            *("refine", 1.02, 1.03),
            refined(
                *("c0", "internal", 1.03),
                replace(strip("c0", "internal", 0, "Kept words.", 0.3, True), selected=True),
                replace(strip("c0", "internal", 12, "Dropped words.", 0.3, False), selected=False),
            ),
        ),
        *step("rewrite", 1.03, 1.1, ev.Rewritten(question="q", query=query, purpose="web", by=QWEN, at=1.1)),
        ev.StepStarted(step="search", at=1.1),
        ev.ApprovalAsked(query=query, provider="tavily", at=1.1),
    ]


def approved() -> list[ev.Event]:
    """The same run to its end: the query is sent, one page can't be read, the model writes and is checked."""
    pages = (page(1, "Web words here.", fetched=True), page(2, "Other words.", fetched=False))
    whole = Answer(
        text="The bridge was opened in 1890 [1]. It is long [2]. It is red [9]. It stands.",
        by=QWEN,
        doubts=("unsupported",),
        citations=(cited(1, "c0", "internal", page=4), cited(2, "w1", "external")),
    )
    checks = (
        SentenceCheck(sentence="The bridge was opened in 1890.", citations=(1,), supported=True, score=0.9),
        SentenceCheck(sentence="It is long.", citations=(2,), supported=False, score=0.2, note="scored", by=GRADER),
        SentenceCheck(sentence="It is red.", citations=(9,), supported=False, note="invented", invented=(9,)),
        SentenceCheck(sentence="It stands.", citations=(), supported=None, note="no citation"),
    )
    unread = Unread(name="example.org", why=f"it is too large {NASTY}")
    tokens = (ev.Token(text=piece, at=6.3) for piece in ("The bridge was opened in 1890 [1", "]. It is"))
    return [
        *asked_outside(),
        ev.ApprovalGiven(approved=True, at=5.0),
        ev.Searched(query=f"bridge opened {NASTY}", provider="tavily", pages=pages, problems=(unread,), at=6.0),
        ev.StepFinished(step="search", seconds=4.9, at=6.0),
        *(ev.Graded(grade=Grade(passage_id=each.id, score=0.6), origin="external", at=6.1) for each in pages),
        refined("w1", "external", 6.1, strip("w1", "external", 0, "Web words here.", 0.6, True)),
        *step("answer", 6.2, 6.4, *tokens, ev.Answered(answer=whole, at=6.4)),
        *step("verify", 6.4, 6.5, ev.Verified(checks=checks, faithfulness=1 / 3, at=6.5)),
        ev.RunFinished(at=6.5),
    ]


def refused() -> list[ev.Event]:
    """The same run after a no: nothing is sent, and the model that was to write breaks off."""
    not_sent = NotApprovedError("The query was not approved, so nothing was sent.")
    broke_off = UnreachableError("broke off in the middle.", "Check that the server runs.", who=QWEN)
    quoted = (cited(1, "c0", "internal", 4),)
    return [
        *asked_outside(),
        ev.ApprovalGiven(approved=False, at=5.0),
        ev.Failed.of(not_sent, "search", 5.0, "documents"),
        ev.StepFinished(step="search", seconds=3.9, at=5.0),
        *step(
            *("answer", 5.0, 5.3),
            ev.Token(text="The bridge", at=5.1),
            ev.Failed.of(broke_off, "answer", 5.2, "quotes", "extractive"),
            ev.Answered(
                answer=Answer(text="Kept words [1].", by="extractive", citations=quoted, instead_of=QWEN), at=5.3
            ),
        ),
        ev.RunFinished(at=5.3),
    ]
