"""What one run looks like at a moment, part by part: each is drawn where the page wants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from crag.core.errors import InputError
from crag.core.trace import Trace
from crag.export.html import answer, evidence, meter, path
from crag.export.html import elements as h
from crag.export.html.elements import Html
from crag.export.html.marks import RATINGS
from crag.export.html.passage import View
from ui.app.program import prices_in_use
from ui.app.session import Session
from ui.components.drawing import draw

Part = Literal["question", "answer", "help", "sources", "path", "action", "chunks", "web", "meter"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The parts of a run under a view.

    `opened`: the number of the citation whose source is open. Where several runs stand on a page, `scope` names this
    one, so that a click tells whose citation it was. `announced`: screen readers hear how it ends. `alone`: sentences
    of the answer that no other run says; `notes` on its sources, by number.
    """

    trace: Trace
    view: View
    opened: int | None = None
    scope: str = ""
    announced: bool = False
    alone: Sequence[tuple[int, int]] = ()
    notes: Mapping[int, str] | None = None

    def draw(self, *parts: Part) -> None:
        """These parts, one below the other; nothing for one that the run does not have."""
        for part in parts:
            html = self._html(part)
            draw(h.div(data_scope=self.scope)[html] if html and self.scope else html)

    def _html(self, part: Part) -> Html:
        trace = self.trace
        match part:
            case "question":
                return answer.question(trace, announced=self.announced)
            case "answer":
                return answer.answer(trace, self.alone)
            case "help":
                return answer.nearest(trace)
            case "sources":
                return answer.sources(trace, self.opened, self.notes, self.view.saved)
            case "path":
                return path.path(trace)
            case "action":
                return path.action(trace)
            case "chunks":
                return evidence.chunks(trace, self.view)
            case "web":
                return evidence.web(trace, self.view)
            case "meter":
                return meter.meter(trace, prices_in_use()) if trace.finished else Html()
            case _:
                assert_never(part)


def labels_of(session: Session, question: str) -> dict[str, str]:
    """The labels of this question's chunks, by chunk id. Raises CragError."""
    return {label.chunk_id: label.label for label in session.library.labels.all() if label.question == question}


def toggle(session: Session, trace: Trace, rest: str) -> None:
    """Store what was clicked, `label:chunk` as `buttons` drew it, or take it back if it is set. Raises CragError."""
    session.require("ask")
    label, _, chunk = rest.partition(":")
    if label not in RATINGS or not any(found.chunk.id == chunk for each in trace.rounds for found in each.chunks):
        raise InputError("This run has no such chunk.", "Choose one of the chunks listed.")
    if labels_of(session, trace.meant).get(chunk) == label:
        session.library.labels.delete(trace.meant, chunk)
    else:
        session.library.labels.save(trace.meant, chunk, label)
