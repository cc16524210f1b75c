"""Two results against each other: the sentences that matter, a plot around zero, the questions that changed. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference
from crag.messages.evaluations import ROUGH, UNTIMED, difference_sentence, title_of
from ui.components import html as h
from ui.components.html import Html
from ui.evaluate.measures import GROUPS, PLOTTED, as_text, signed
from ui.evaluate.rows import facts, taken

_TOLD = ("answer_holds", "evidence_answer", "acted_right", "abstention_right", "faithfulness", "acted_page_recall")
"""What is told in words even where nothing is sure."""
_ALSO = ("evidence_words", "rewrites", "searches", "calls", "input_tokens", "output_tokens")
"""What has no place on a scale of shares, and is told in numbers."""


def sentences(found: Mapping[str, Difference], said: tuple[str, str]) -> Html:
    """What differs for sure, then what does not, each in a sentence."""
    order = [measure for group in GROUPS.values() for measure in group]
    known = [found[key] for key in order if key in found and found[key].value is not None]
    sure = [each for each in known if each.includes_zero is False]
    unsure = [found[key] for key in _TOLD if key in found and found[key] in known and found[key] not in sure]
    shown = [*sure[:6], *unsure[: max(1, 6 - len(sure))]]
    all_rough = bool(shown) and all(each.rough for each in shown)
    rough = f" {ROUGH}" if all_rough else ""
    lead = h.p[
        h.b[f"{len(sure)} of {len(known)}"],
        f" measures differ between {said[0]} and {said[1]} with an interval that excludes zero.{rough}",
    ]
    listed = h.ul[(h.li[difference_sentence(each, rough=not all_rough)] for each in shown)]
    return h.div("cx eval-said")[lead, listed, h.p("small")[UNTIMED]]


def intervals(found: Mapping[str, Difference], said: tuple[str, str]) -> Html:
    """Shares on a scale around zero, then everything else in numbers."""
    shares = [found[key] for key in PLOTTED if key in found and found[key].value is not None]
    ends = [abs(end) for each in shares for end in (each.value, each.low, each.high) if end is not None]
    most = max([0.1, *ends])
    most = next(step for step in (0.1, 0.2, 0.25, 0.5, 1.0) if most <= step + 1e-9)
    plotted = [_line(each, most) for each in shares]
    scale = [h.i(style=f"left:{50 + 50 * at:.0f}%")[_tick(at * most)] for at in (-1, -0.5, 0, 0.5, 1)]
    plot = h.fragment(
        h.p("figures eval-ways")[h.span["← higher with ", h.b[said[0]]], h.span["higher with ", h.b[said[1]], " →"]],
        h.ul[plotted, h.li("scale", aria_hidden="true")[h.span("name"), h.span("track zero")[scale], h.span("number")]],
    )
    legend = f"Second minus first; the lines are {LEVEL} % bootstrap intervals over the questions that measure both."
    filled = "A filled mark: the interval excludes zero."
    return h.fragment(
        h.div("cx eval-dots eval-diff")[plot if shares else "", h.p("legend")[f"{legend} {filled}"]],
        _numbers([found[key] for key in _ALSO if key in found and found[key].value is not None], said),
    )


def _tick(value: float) -> str:
    return "0" if value == 0 else f"{'+' if value > 0 else '−'}{abs(value):g}"


def _line(each: Difference, most: float) -> Html:
    value = each.value or 0.0
    low, high = (value if end is None else end for end in (each.low, each.high))
    sure = each.includes_zero is False
    at, start, width = (f"{share:.2%}" for share in (_at(value, most), _at(low, most), (high - low) / (2 * most)))
    mark = h.b(style=f"left:{at}")["●" if sure else "○"]
    lane = h.span("lane")[h.i("span", style=f"left:{start};width:{width}"), mark]
    between = f"{signed(each.measure, low)} to {signed(each.measure, high)}" if each.low is not None else "no interval"
    number = h.fragment(h.b[signed(each.measure, value)], " ", h.span("small")[f"{between}, n {each.pairs:,}"])
    return h.li("sure" if sure else "", title=difference_sentence(each))[
        h.span("name")[title_of(each.measure)], h.span("track zero")[lane], h.span("number num")[number]
    ]


def _at(value: float, most: float) -> float:
    return 0.5 + value / (2 * most)


def _numbers(rest: Sequence[Difference], said: tuple[str, str]) -> Html:
    if not rest:
        return Html()
    body = [
        h.tr[
            h.td[title_of(each.measure)],
            h.td("r")[as_text(each.measure, each.first)],
            h.td("r")[as_text(each.measure, each.second)],
            h.td("r")[h.b[signed(each.measure, each.value)]],
            h.td("r")[_between(each)],
        ]
        for each in rest
    ]
    heads = [h.th("r")[name] for name in (*said, "Difference", f"{LEVEL} % interval")]
    return h.div("cx eval-scroll", tabindex="0", role="region", aria_label="Other differences")[
        h.table("grid eval-numbers")[h.thead[h.tr[h.th["A question"], heads]], h.tbody[body]]
    ]


def _between(each: Difference) -> str:
    if each.low is None or each.high is None:
        return "–"
    return f"{signed(each.measure, each.low)} to {signed(each.measure, each.high)}"


# Questions that ended otherwise


@dataclass(frozen=True, slots=True)
class Change:
    """One question under both, and what differs, in words; `better` None where neither way is better in itself."""

    first: ResultRow
    second: ResultRow
    what: tuple[tuple[str, bool | None], ...]


def changes(first: Sequence[ResultRow], second: Sequence[ResultRow]) -> list[Change]:
    """The questions in both that did not end alike, in the first's order."""
    theirs = {row.question_id: row for row in second}
    pairs = [(row, theirs[row.question_id]) for row in first if row.question_id in theirs]
    return [Change(one, other, what) for one, other in pairs if (what := _differences(one, other))]


_WATCHED = (
    ("acted_holds", "now retrieved", "no longer retrieved"),
    ("evidence_answer", "evidence now holds it", "evidence no longer holds it"),
    ("evidence_page", "evidence now from an expected page", "evidence no longer from an expected page"),
)
_JUDGED = (
    ("answer_holds", "answer now says it", "answer no longer says it"),
    ("abstention_right", "now rightly answered or abstained", "now wrongly answered or abstained"),
)
"""What is said of the answer itself."""
_MARKS = re.compile(r"(?<!\s)\s*+\[\d{1,3}\]")


def _differences(one: ResultRow, other: ResultRow) -> tuple[tuple[str, bool | None], ...]:
    """What changed. An answer that stayed the same became neither better nor worse: then what it is judged by did."""
    listed: list[tuple[str, bool | None]] = []
    if bool(one.problem) != bool(other.problem):
        listed.append(("now fails", False) if other.problem else ("no longer fails", True))
    judged = _changed(one, other, _JUDGED)
    if not _same_answer(one, other):
        listed += judged
    listed += (evidence := _changed(one, other, _WATCHED))
    if judged and not evidence and _same_answer(one, other):
        listed.append(("same answer, judged by another label", None))
    if None not in (one.action, other.action) and one.action is not other.action:  # plain RAG takes none
        listed.append((f"{one.action} → {other.action}", None))
    return tuple(listed)


def _changed(
    one: ResultRow, other: ResultRow, watched: Sequence[tuple[str, str, str]]
) -> list[tuple[str, bool | None]]:
    """The measures that both know and that differ, in words."""
    both = [(getattr(one, name), getattr(other, name), gained, lost) for name, gained, lost in watched]
    return [
        (gained if after else lost, bool(after))
        for before, after, gained, lost in both
        if before is not None and after is not None and before != after
    ]


def _same_answer(one: ResultRow, other: ResultRow) -> bool:
    """Whether both give the same answer, but for the numbers of citations."""
    said = [(" ".join(_MARKS.sub("", row.answer).split()), row.short_answer, row.abstained) for row in (one, other)]
    return bool(said[0][0]) and said[0] == said[1]


def listed(found: Sequence[Change], said: tuple[str, str], known: Container[str]) -> Html:
    """Questions that ended otherwise: what changed, then both rows."""
    items = [_change(change, said, known) for change in found]
    return h.div("cx eval-rows eval-changes")[h.ul[items]]


def _change(change: Change, said: tuple[str, str], known: Container[str]) -> Html:
    tags = [
        h.span(f"tag {_way(better)}")["✓ " if better else "✕ " if better is False else "", what]
        for what, better in change.what
    ]
    pairs = [
        h.div("side")[taken(row, known, name), h.span("facts")[facts(row)]]
        for name, row in zip(said, (change.first, change.second), strict=True)
    ]
    return h.li[h.p("tags")[h.b[change.first.question], " ", tags], pairs]


def _way(better: bool | None) -> str:
    return "none" if better is None else "better" if better else "worse"
