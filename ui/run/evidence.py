"""The evidence of a run, drawn from a trace: chunks with their scores and strips, and web pages."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.makers import Maker, maker, named
from crag.core.trace import Approval, Round, Search, Trace
from crag.core.types import Grade, RetrievedChunk, Strip, WebPage
from crag.core.wording import about, unread_sentence
from ui.kit import words
from ui.kit.safe import excerpt, link, site, text
from ui.run import approval, faults, thumbs
from ui.run.passage import View, passage, surroundings

__all__ = ["View", "chunks", "passage", "surroundings", "web"]


def chunks(trace: Trace, view: View) -> str:
    """The chunks of the round that is acted on, in the order of the library, with whatever is known of each."""
    here = trace.round
    if here is None:
        return ""
    cards = "".join(_chunk(found, here, trace, view) for found in here.chunks)
    again = f'<span class="small">found with the rewritten query <span class="query">{text(here.query)}</span></span>'
    heading = (
        f'<h3>From your documents <span class="small">{words.count(len(here.chunks), "chunk")}</span>'
        f"{again if len(trace.rounds) > 1 else ''}</h3>"
    )
    if not cards:
        return f'<div class="cx">{heading}<p>Nothing was found.</p></div>'
    legend = (
        f'<p class="legend">Bars: relevance score from 0 to 1. Lines: lower {view.lower:.2f}, upper {view.upper:.2f}. '
        "Open a chunk for its strips: highlighted ones were kept, struck ones dropped.</p>"
    )
    return (
        f'<div class="cx">{heading}<div class="cards">{_together(here, trace, view)}{cards}</div>'
        f"{legend if _graded(trace) else ''}</div>"
    )


def _graded(trace: Trace) -> bool:
    return bool(trace.settings.get("evaluator") != "none")


def _jointly(here: Round, trace: Trace) -> bool:
    return here.joint is not None or trace.settings.get("evaluator") == "joint"


def _together(here: Round, trace: Trace, view: View) -> str:
    """The one grade over all chunks, where they are graded so."""
    if not _jointly(here, trace):
        return ""
    score = _score(here.joint, view, waiting=not trace.finished)
    return (
        '<div class="joint"><div class="row"><span></span><span class="where"><span class="page">All '
        f"{words.count(len(here.chunks), 'chunk')} together</span>{_local(here.joint)}</span>{score}</div>"
        f'<div class="why">{_facts(here.joint, (), view)}</div></div>'
    )


def _chunk(found: RetrievedChunk, here: Round, trace: Trace, view: View) -> str:
    chunk = found.chunk
    grade = here.grades.get(chunk.id)
    strips = trace.strips.get(chunk.id, ())
    marks = '<span class="tag deciding">decided</span> ' if view.deciding_id == chunk.id else ""
    chosen = thumbs.buttons(found, view.thumbs) if view.thumbs is not None else ""
    own = _graded(trace) and not _jointly(here, trace)
    summary = (
        f'<span class="rank num">{found.rank}</span>'
        f'<span><span class="where">{marks}<span class="page">p. {chunk.page}</span><span class="name">'
        f"{text(chunk.source)}</span>{_local(grade)}</span>{_noted(chunk.id, view)}"
        f'<span class="peek">{text(excerpt(chunk.text, 160))}</span>'
        "</span>" + (_score(grade, view, waiting=not trace.finished) if own else "")
    )
    card = (
        f'<details data-keep="{text(chunk.id)}"><summary class="{"" if own else "wide"}">{summary}</summary>'
        f'<div class="body">'
        f"{passage(chunk.text, strips, view)}{_facts(grade, strips, view)}"
        f'<div class="facts"><span>similarity {found.similarity:.3f} (for ranking only)</span>'
        + (f"<span>indexed with: {text(excerpt(chunk.context, 120))}</span>" if chunk.context else "")
        + f'<button class="more" data-pick="{text("chunk:" + chunk.id)}">Show it on the page</button>'
        "</div></div></details>"
    )
    return f'<div class="card thumbed">{card}{chosen}</div>' if chosen else card


def _noted(id: str, view: View) -> str:
    """What a comparison says of a chunk or page."""
    tags = "".join(f'<span class="tag only">{text(note)}</span>' for note in view.notes.get(id, ()))
    return f'<span class="notes">{tags}</span>' if tags else ""


def _local(grade: Grade | None) -> str:
    """The mark of a grade that the local evaluator made in another's place; the reason on hover."""
    if grade is None or not grade.instead_of:
        return ""
    return f'<span class="tag" title="{text(faults.why(grade))}">graded locally</span>'


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
    lines = _grade_notes(grade) if grade is not None else []
    if strips:
        kept = sum(1 for strip in strips if view.keeps(strip))
        chosen = ", chosen by the language model" if any(strip.selected is not None for strip in strips) else ""
        lines.append(f"{kept} of {words.count(len(strips), 'strip')} kept{chosen}.")
    return "".join(f'<p class="small">{text(line)}</p>' for line in lines)


def _grade_notes(grade: Grade) -> list[str]:
    """What the evaluator said of a text, and who that was."""
    if grade.score is None:
        why = about(grade.error, grade.who, named) or "no reason is known"
        failed = words.sentence(f"The grade failed: {why}")
        return [f"{failed} It counts as unknown."]
    how = "remembered" if grade.cached else words.duration(grade.seconds)
    lines = [f"{words.sentence(grade.reason)} Graded by {maker(grade.evaluator)} ({how}).".strip()]
    if Maker.of(grade.evaluator).role == "reranker":  # that it was reranked is its reason
        lines = [words.sentence(f"{grade.reason} by {named(grade.evaluator)} ({how})")]
    if grade.instead_of:
        lines.append(f"Graded locally: {faults.why(grade)}")
    return lines


def web(trace: Trace, view: View) -> str:
    """Every web search with the query as it was sent, and its pages with score and kept strips; queries kept back."""
    answered = list(trace.approvals if not trace.awaiting else trace.approvals[:-1])
    blocks = []
    for place, search in enumerate(trace.searches):
        asked = next((each for each in answered if each.approved and each.provider == search.provider), None)
        blocks.append(_search(search, place, asked, trace, view))
    kept_back = [each for each in answered if not each.approved]
    blocks = [*(_kept_back(each) for each in kept_back), *blocks]
    return f'<div class="cx">{"".join(blocks)}</div>' if blocks else ""


def _kept_back(asked: Approval) -> str:
    return (
        f'<h3>Not searched <span class="small">{text(words.web(asked.provider))}, for</span>'
        f'<span class="query">{text(asked.query)}</span></h3><p class="small">{approval.told(asked)}</p>'
    )


def _search(search: Search, place: int, asked: Approval | None, trace: Trace, view: View) -> str:
    sent = search.pages[0].query if search.pages else search.query
    cards = "".join(_page(page, trace, view) for page in search.pages)
    return (
        f'<h3>From the web <span class="tag web">WEB</span><span class="small">{text(words.web(search.provider))}, '
        f'{words.count(len(search.pages), "result")} for</span><span class="query">{text(sent)}</span></h3>'
        f'<p class="small">{_how(search, asked, trace)}</p>'
        + (f'<div class="cards">{cards}</div>' if cards else "<p>The search found nothing.</p>")
        + _problems(search, place)
    )


def _how(search: Search, asked: Approval | None, trace: Trace) -> str:
    """Whether anything left this machine for this search, and who made the query."""
    if search.found_at:
        sent = f"Remembered, found {words.moment(search.found_at)}; nothing was sent this time."
    elif search.provider == "folder":
        sent = "Searched on this machine; nothing was sent."
    else:
        sent = f"Sent to {words.web(search.provider)}."
    yes = approval.told(asked) if asked and not search.found_at else ""
    return text(" ".join(filter(None, (sent, yes, _made(trace)))))


def _made(trace: Trace) -> str:
    """Who made the query of the web search."""
    by = next((rewrite.by for rewrite in reversed(trace.rewrites) if rewrite.purpose == "web"), "")
    known = {"": "", "keywords": "The query is keywords of the question.", "none": "The query is the question itself."}
    return known.get(by, f"The query was written by {maker(by)}.")


def _problems(search: Search, place: int) -> str:
    """What could not be read, folded."""
    if not search.problems:
        return ""
    listed = "".join(f"<li>{text(unread_sentence(problem))}</li>" for problem in search.problems)
    return (
        f'<details class="fold" data-keep="problems-{place}"><summary>{words.count(len(search.problems), "problem")} '
        f"with these results</summary><ul>{listed}</ul></details>"
    )


def _page(page: WebPage, trace: Trace, view: View) -> str:
    grade, strips = trace.web_grades.get(page.id), trace.strips.get(page.id, ())
    address = link(page.url)
    read = "read in full" if page.fetched else f"{words.web(page.provider)}'s summary only"
    about = [site(page.url), page.published, read if page.provider != "folder" else "a saved page"]
    opener = (
        f'<a href="{address}" target="_blank" rel="noopener noreferrer">Open {text(site(page.url))} in a new tab</a>'
        if address
        else f'<span class="quiet">{text(page.url)}</span>'
    )
    shown = surroundings(page.text, strips, view)
    return (
        f'<details data-keep="{text(page.id)}"><summary><span class="rank num">{page.rank}</span>'
        f'<span><span class="where"><span class="tag web">WEB</span><span class="name">{text(page.title or page.url)}'
        f"</span></span>{_noted(page.id, view)}"
        f'<span class="peek">{text(" · ".join(each for each in about if each))}</span></span>'
        f"{_score(grade, view, waiting=not trace.finished)}</summary>"
        f'<div class="body">{shown}{_facts(grade, strips, view)}<div class="facts">{opener}</div></div></details>'
    )
