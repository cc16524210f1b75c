"""Fixed places on a page, each rewritten whole when it changes: what one run looks like at a moment, under a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crag.core.trace import Trace
from ui.components import html as h
from ui.components.drawing import draw
from ui.components.html import Html
from ui.run import answer, evidence, guidance, meter, path
from ui.run.passage import View
from ui.run.saved_pages import Shelf


class Slots:
    """The places of one run: set each before `write`; those of the question and of the help may be none.

    `opened`: the number of the citation whose source is open. `web`: whether a web provider is on. Where several runs
    stand on a page, `scope` names this one, so that a click tells whose citation it was. `announced`: screen readers
    are told how it ends.
    """

    def __init__(
        self, opened: int | None = None, scope: str = "", *, web: bool = False, announced: bool = False
    ) -> None:
        self._opened, self._scope, self._web, self._announced = opened, scope, web, announced
        self.question: Any = None
        self.answer: Any = None
        self.help: Any = None
        self.sources: Any = None
        self.path: Any = None
        self.action: Any = None
        self.chunks: Any = None
        self.web: Any = None
        self.meter: Any = None
        self._shown: dict[str, tuple[Any, Html]] = {}
        """What stands in each place, by its name."""

    def write(
        self,
        trace: Trace,
        view: View,
        alone: Sequence[tuple[int, int]] = (),
        notes: Mapping[int, str] | None = None,
    ) -> None:
        """`alone`: sentences of the answer that no other run says; `notes` on its sources, by number."""
        self.write_answer(trace, view.shelf, alone, notes)
        self.write_evidence(trace, view)

    def write_evidence(self, trace: Trace, view: View) -> None:
        """The places that look otherwise under another view: chunks and web pages."""
        self._draw("chunks", evidence.chunks(trace, view))
        self._draw("web", evidence.web(trace, view))

    def write_answer(
        self,
        trace: Trace,
        shelf: Shelf | None,
        alone: Sequence[tuple[int, int]] = (),
        notes: Mapping[int, str] | None = None,
    ) -> None:
        """All other places."""
        if self.question is not None:
            self.write_question(trace)
        self._draw("answer", answer.answer(trace, alone))
        if self.help is not None:
            self._draw("help", guidance.panel(trace, web=self._web))
        self._draw("sources", answer.sources(trace, self._opened, notes, shelf))
        self._draw("path", path.path(trace))
        self._draw("action", path.action(trace))
        # Each time, as Streamlit hears of a touched widget only where something is drawn; it is empty until the end.
        self._draw("meter", meter.meter(trace, meter.in_use()) if trace.finished else Html(), again=True)

    def write_question(self, trace: Trace) -> None:
        self._draw("question", answer.question(trace, announced=self._announced))

    def _draw(self, part: str, html: Html, *, again: bool = False) -> None:
        """What is shown already is not sent once more, unless `again`: the browser would build it anew."""
        shown = getattr(self, part), h.div(data_scope=self._scope)[html] if html and self._scope else html
        if again or self._shown.get(part) != shown:
            place, made = self._shown[part] = shown
            draw(made, place)
