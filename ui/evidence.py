"""The evidence of a run, drawn from a trace: chunks with their scores and strips, and web pages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from crag.core.trace import Round, Trace
from crag.core.types import Grade, RetrievedChunk, Strip, WebPage
from ui import words
from ui.safe import excerpt, link, site, text

__all__ = ["View", "chunks", "passage", "surroundings", "web"]

_WHOLE = 2500
"""Characters up to which a web page is shown whole."""
_BESIDE = 3
"""Strips shown before and after a kept one of a longer page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Under which thresholds a trace is looked at. `kept`: the strips kept then, by source; None: as in the run.

    `deciding_id` is the chunk that decides under these thresholds.
    """

    upper: float
    lower: float
    deciding_id: str | None = None
    kept: Mapping[str, Collection[str]] | None = None

    @classmethod
    def of(cls, trace: Trace) -> View:
        """The run as it was."""
        decision = trace.decision
        return cls(
            upper=decision.upper if decision else float(trace.settings.get("upper", 0.7)),
            lower=decision.lower if decision else float(trace.settings.get("lower", 0.3)),
            deciding_id=decision.deciding_id if decision else None,
        )

    def keeps(self, strip: Strip) -> bool:
        return strip.kept if self.kept is None else strip.id in self.kept.get(strip.source_id, ())


def chunks(trace: Trace, view: View) -> str:
    """The chunks of the round that is acted on, in the order of the library, with whatever is known of each."""
    here = trace.round
    if here is None:
        return ""
    graded = trace.settings.get("evaluator") != "none"
    cards = "".join(_chunk(found, here, trace, view, graded) for found in here.chunks)
    again = f'<span class="small">found with the rewritten query <span class="query">{text(here.query)}</span></span>'
    legend = (
        f'<p class="legend">Bars: relevance score from 0 to 1. Lines: lower {view.lower:.2f}, upper {view.upper:.2f}. '
        "Open a chunk for its strips: highlighted ones were kept, struck ones dropped.</p>"
    )
    return (
        f'<div class="cx"><h3>From your documents <span class="small">{words.count(len(here.chunks), "chunk")}</span>'
        f"{again if len(trace.rounds) > 1 else ''}</h3>"
        + (
            f'<div class="cards">{cards}</div>{legend if graded else ""}</div>'
            if cards
            else "<p>Nothing was found.</p></div>"
        )
    )


def _chunk(found: RetrievedChunk, here: Round, trace: Trace, view: View, graded: bool) -> str:
    chunk = found.chunk
    grade = here.grades.get(chunk.id) or here.joint
    strips = trace.strips.get(chunk.id, ())
    marks = '<span class="tag deciding">decided</span> ' if view.deciding_id == chunk.id else ""
    summary = (
        f'<span class="rank num">{found.rank}</span>'
        f'<span><span class="where">{marks}<span class="page">p. {chunk.page}</span><span class="name">'
        f'{text(chunk.source)}</span></span><span class="peek">{text(excerpt(chunk.text, 160))}</span></span>'
        + (_score(grade, view, waiting=not trace.finished) if graded else "<span></span><span></span>")
    )
    return (
        f'<details data-keep="{text(chunk.id)}"><summary>{summary}</summary><div class="body">'
        f"{passage(chunk.text, strips, view)}{_facts(grade, strips, view)}"
        f'<div class="facts"><span>similarity {found.similarity:.3f} (for ranking only)</span>'
        + (f"<span>indexed with: {text(excerpt(chunk.context, 120))}</span>" if chunk.context else "")
        + f'<button class="more" data-pick="{text("chunk:" + chunk.id)}">Show it on the page</button>'
        "</div></div></details>"
    )


def _score(grade: Grade | None, view: View, *, waiting: bool) -> str:
    """A bar against both thresholds, and the score with its verdict in words."""
    lines = f'<b class="low" style="left:{view.lower:.2%}"></b><b style="left:{view.upper:.2%}"></b>'
    against = f"lower threshold {view.lower:.2f}, upper {view.upper:.2f}"
    if grade is None:
        note = "waiting…" if waiting else "not graded"
        return f'<span class="bar">{lines}</span><span class="verdict none">{note}</span>'
    if grade.score is None:
        return f'<span class="bar">{lines}</span><span class="verdict none">? grade failed</span>'
    verdict = words.verdict_of(grade.score, view.upper, view.lower)
    name = verdict.lower()
    return (
        f'<span class="bar" title="score {grade.score:.3f}, {against}">'
        f'<i class="{name}" style="width:{grade.score:.1%}"></i>{lines}</span>'
        f'<span class="verdict {name}"><span class="num">{grade.score:.2f}</span>'
        f"{words.ICONS[verdict]} {name.capitalize()}</span>"
    )


def _facts(grade: Grade | None, strips: Sequence[Strip], view: View) -> str:
    lines = []
    if grade is not None and grade.score is None:
        lines.append(f"The grade failed: {grade.error}. It counts as unknown.")
    elif grade is not None:
        how = "remembered" if grade.cached else words.duration(grade.seconds)
        ended = grade.reason if grade.reason.endswith((".", "…")) else f"{grade.reason}."
        reason = f"{ended[0].upper()}{ended[1:]} " if grade.reason else ""
        lines.append(f"{reason}Graded by {grade.evaluator or 'the evaluator'} ({how}).")
    if strips:
        kept = sum(1 for strip in strips if view.keeps(strip))
        lines.append(f"{kept} of {words.count(len(strips), 'strip')} kept.")
    return "".join(f'<p class="small" style="margin:.5rem 0 0">{text(line)}</p>' for line in lines)


def passage(whole: str, strips: Sequence[Strip], view: View, cited: str = "") -> str:
    """A text with its kept strips highlighted and its dropped ones struck; score on hover. `cited` is framed."""
    parts, at = [], 0
    for strip in sorted(strips, key=lambda strip: strip.start):
        if strip.start < at:
            continue
        parts.append(text(whole[at : strip.start]))
        score = "not scored" if strip.score is None else f"score {strip.score:.2f}"
        tag, word = ("mark", "kept") if view.keeps(strip) else ("s", "dropped")
        frame = ' class="cited"' if strip.id == cited else ""
        parts.append(f'<{tag}{frame} title="{score}, {word}">{text(whole[strip.start : strip.end])}</{tag}>')
        at = strip.end
    parts.append(text(whole[at:]))
    return f'<div class="text">{"".join(parts)}</div>'


def web(trace: Trace, view: View) -> str:
    """Every web search with the query as it was sent, and its pages with score and kept strips."""
    if not trace.searches:
        return ""
    blocks = []
    for search in trace.searches:
        cards = "".join(_page(page, trace, view) for page in search.pages)
        blocks.append(
            f'<h3>From the web <span class="tag web">WEB</span><span class="small">{text(search.provider)}, '
            f'{words.count(len(search.pages), "result")} for</span><span class="query">{text(search.query)}</span></h3>'
            + (f'<div class="cards">{cards}</div>' if cards else "<p>The search found nothing.</p>")
        )
    return f'<div class="cx">{"".join(blocks)}</div>'


def _page(page: WebPage, trace: Trace, view: View) -> str:
    grade, strips = trace.web_grades.get(page.id), trace.strips.get(page.id, ())
    address = link(page.url)
    published = f" · {text(page.published)}" if page.published else ""
    opener = (
        f'<a href="{address}" target="_blank" rel="noopener noreferrer">Open {text(site(page.url))} in a new tab</a>'
        if address
        else f'<span class="quiet">{text(page.url)}</span>'
    )
    shown = surroundings(page.text, strips, view)
    return (
        f'<details data-keep="{text(page.id)}"><summary><span class="rank num">{page.rank}</span>'
        f'<span><span class="where"><span class="tag web">WEB</span><span class="name">{text(page.title or page.url)}'
        f'</span></span><span class="peek">{text(site(page.url))}{published}</span></span>'
        f"{_score(grade, view, waiting=not trace.finished)}</summary>"
        f'<div class="body">{shown}{_facts(grade, strips, view)}<div class="facts">{opener}</div></div></details>'
    )


def surroundings(whole: str, strips: Sequence[Strip], view: View, cited: str = "") -> str:
    """A page's text; a long one cut to what was kept, each with the strips beside it."""
    if len(whole) <= _WHOLE:
        return passage(whole, strips, view, cited)
    ordered = sorted(strips, key=lambda strip: strip.start)
    wanted = [place for place, strip in enumerate(ordered) if view.keeps(strip)] or list(range(len(ordered)))[:_BESIDE]
    shown = sorted({near for place in wanted for near in range(place - _BESIDE, place + _BESIDE + 1)})
    groups: list[list[Strip]] = []
    for place in shown:
        if not 0 <= place < len(ordered):
            continue
        if groups and ordered[place - 1] is groups[-1][-1]:
            groups[-1].append(ordered[place])
        else:
            groups.append([ordered[place]])
    parts = []
    for group in groups:
        start, end = group[0].start, max(strip.end for strip in group)
        moved = [replace(strip, start=strip.start - start, end=strip.end - start) for strip in group]
        parts.append(passage(whole[start:end], moved, view, cited))
    return '<p class="small">…</p>'.join(parts) if parts else passage(whole[:_WHOLE], (), view)
