"""Fixed places on a page, each rewritten whole: what one run looks like at a moment, under a view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crag.core.trace import Trace
from ui.kit import html as h
from ui.kit.drawing import draw
from ui.kit.html import Html
from ui.run import answer, evidence, guidance, meter, path
from ui.run.passage import View


class Slots:
    """The places of one run: set each before `write`; those of the question and of the help may be none.

    `opened`: the number of the citation whose source is open. `web`: whether a web provider is on. Where several runs
    stand on a page, `scope` names this one, so that a click tells whose citation it was.
    """

    def __init__(self, opened: int | None = None, scope: str = "", *, web: bool = False) -> None:
        self._opened, self._scope, self._web = opened, scope, web
        self.question: Any = None
        self.answer: Any = None
        self.help: Any = None
        self.sources: Any = None
        self.path: Any = None
        self.action: Any = None
        self.chunks: Any = None
        self.web: Any = None
        self.meter: Any = None

    def write(
        self,
        trace: Trace,
        view: View,
        alone: Sequence[tuple[int, int]] = (),
        notes: Mapping[int, str] | None = None,
    ) -> None:
        """`alone`: sentences of the answer that no other run says; `notes` on its sources, by number."""
        if self.question is not None:
            self._draw(answer.question(trace), self.question)
        self._draw(answer.answer(trace, alone), self.answer)
        if self.help is not None:
            self._draw(guidance.panel(trace, web=self._web), self.help)
        self._draw(answer.sources(trace, self._opened, notes, view.shelf), self.sources)
        self._draw(path.path(trace), self.path)
        self._draw(path.action(trace), self.action)
        self._draw(evidence.chunks(trace, view), self.chunks)
        self._draw(evidence.web(trace, view), self.web)
        self._draw(meter.meter(trace, meter.in_use()) if trace.finished else Html(), self.meter)

    def _draw(self, html: Html, place: Any) -> None:
        draw(h.div(data_scope=self._scope)[html] if html and self._scope else html, place)
