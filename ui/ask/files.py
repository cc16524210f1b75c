"""What of a run, and of its whole conversation, is taken along as files."""

from __future__ import annotations

from crag.core.events import events_to_jsonl
from crag.core.trace import Trace
from crag.export import markdown
from crag.export.html import marks, pages
from crag.export.html.page_pictures import pictures
from ui.app.program import prices_in_use
from ui.app.session import Session
from ui.components import downloads
from ui.run import pageview

_MARKDOWN = "text/markdown"


def offer(session: Session, trace: Trace, stale: marks.Stale) -> None:
    """The files of a finished run, each made when it is asked for, of what is stored then; with other turns, of the
    conversation too.
    """
    run = trace.run_id

    def page() -> str:
        now = session.trace(run)
        shown = pictures(session.library, now, pageview.image)
        return pages.page(now, session.events(run), prices_in_use(), stale, shown)

    downloads.file("One HTML page", page, pages.file_name(trace, "html"), "text/html", key="export-html")
    name = pages.file_name(trace, "md")
    downloads.file(
        "Markdown with footnotes", lambda: markdown.turn(session.trace(run)), name, _MARKDOWN, key="export-markdown"
    )
    downloads.file(
        "Events, one JSON object a line",
        lambda: events_to_jsonl(session.events(run)),
        pages.file_name(trace, "jsonl"),
        "application/x-ndjson",
        key="export-json",
    )
    if len(turns := session.turns) > 1:
        downloads.file(
            f"The conversation ({len(turns)} turns), Markdown",
            lambda: markdown.conversation(session.library.runs.readable(turns)),
            "crag-conversation.md",
            _MARKDOWN,
            key="export-talk-markdown",
        )
