"""Two results against each other: the sentences that matter, the numbers, the questions that changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crag.analysis import regression
from crag.analysis.intervals import LEVEL, same_answer
from crag.analysis.metrics.metrics import ResultRow
from crag.analysis.metrics.results import Difference
from crag.analysis.regression import Regression
from crag.export.html.safe_text import markdown
from crag.messages.evaluations import ROUGH, change_parts, difference_sentence, stage_text, title_of
from ui.evaluate.measures import GROUPS, SHARES, as_text, signed
from ui.evaluate.rows import action_text, answer_text

_SAID = ("answer_holds", "evidence_answer", "acted_right", "abstention_right", "faithfulness", "acted_page_recall")
"""What is said in words even where nothing is sure."""
_SHOWN = (*SHARES, "evidence_words", "rewrites", "searches", "calls", "input_tokens", "output_tokens")
"""What is shown in numbers."""


def sentences(found: Mapping[str, Difference], said: tuple[str, str]) -> str:
    """What differs for sure, then what does not, each in a sentence, as Markdown."""
    order = [measure for group in GROUPS.values() for measure in group]
    known = [found[key] for key in order if key in found and found[key].value is not None]
    sure = [each for each in known if each.includes_zero is False]
    unsure = [found[key] for key in _SAID if key in found and found[key] in known and found[key] not in sure]
    shown = [*sure[:6], *unsure[: max(1, 6 - len(sure))]]
    all_rough = bool(shown) and all(each.rough for each in shown)
    rough = f" {ROUGH}" if all_rough else ""
    lead = (
        f"**{len(sure)} of {len(known)}** measures differ between {markdown(said[0])} and {markdown(said[1])} with an"
    )
    listed = (f"- {markdown(difference_sentence(each, rough=not all_rough))}" for each in shown)
    return "\n".join([f"{lead} interval that excludes zero.{rough}", "", *listed])


def numbers(found: Mapping[str, Difference], said: tuple[str, str]) -> list[dict[str, str]]:
    """The measures in both, each difference with its interval; in bold where that excludes zero."""
    return [
        {
            "Measure": title_of(each.measure),
            markdown(said[0]): as_text(each.measure, each.first),
            markdown(said[1]): as_text(each.measure, each.second),
            "Difference": f"**{_signed(each)}**" if each.includes_zero is False else _signed(each),
            f"{LEVEL} % interval": _between(each),
        }
        for each in (found[key] for key in _SHOWN if key in found and found[key].value is not None)
    ]


def _signed(each: Difference) -> str:
    return signed(each.measure, each.value)


def _between(each: Difference) -> str:
    if each.low is None or each.high is None:
        return "–"
    return f"{signed(each.measure, each.low)} to {signed(each.measure, each.high)}"


# Questions that ended otherwise


@dataclass(frozen=True, slots=True)
class Change:
    """One question under both, and what differs, in words; `better` None where neither way is better in itself.

    `found`: what it lost and gained by its labels; `why` its place is lost in the second.
    """

    first: ResultRow
    second: ResultRow
    what: tuple[tuple[str, bool | None], ...]
    found: regression.Change | None = None
    why: str = ""

    def has(self, better: bool | None) -> bool:
        """Whether it is better (True), worse (False) or only otherwise; its labels decide where they tell."""
        if self.found is not None and better is not None:
            return self.found.worse is not better
        return any(each is better for _, each in self.what)


def changes(
    first: Sequence[ResultRow],
    second: Sequence[ResultRow],
    found: Regression | None = None,
    reasons: Mapping[str, str] | None = None,
) -> list[Change]:
    """The questions in both that did not end alike: what `found` calls worse, then better, then the others in order.

    `reasons`: why places are lost in the second, by question id.
    """
    theirs = {row.question_id: row for row in second}
    judged = {each.question.id: each for each in (*found.worse, *found.better)} if found else {}
    place = {id: number for number, id in enumerate(judged)}
    listed = []
    for one in sorted(first, key=lambda row: place.get(row.question_id, len(place))):
        if (other := theirs.get(one.question_id)) is None:
            continue
        change = judged.get(one.question_id)
        if what := _differences(one, other, change):
            listed.append(Change(one, other, what, change, (reasons or {}).get(one.question_id, "")))
    return listed


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


def _differences(
    one: ResultRow, other: ResultRow, change: regression.Change | None
) -> tuple[tuple[str, bool | None], ...]:
    """What changed. An answer that stayed the same became neither better nor worse: then what it is judged by did."""
    both = None not in (one.action, other.action)  # plain RAG takes none
    taken = [(f"{one.action} → {other.action}", None)] if both and one.action is not other.action else []
    if change is not None:
        return (*change_parts(change), *taken)
    listed: list[tuple[str, bool | None]] = []
    if bool(one.problem) != bool(other.problem):
        listed.append(("now fails", False) if other.problem else ("no longer fails", True))
    judged = _changed(one, other, _JUDGED)
    if not same_answer(one, other):
        listed += judged
    listed += (evidence := _changed(one, other, _WATCHED))
    if judged and not evidence and same_answer(one, other):
        listed.append(("same answer, judged by another label", None))
    return (*listed, *taken)


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


STAGES = ("Lost now", "Lost before")
WHY = "Why now"
"""Columns of where a place was lost."""


def row(change: Change, said: tuple[str, str]) -> dict[str, str]:
    """A question that ended otherwise: what changed, and both answers."""
    what = [f"{'✓ ' if better else '✕ ' if better is False else ''}{text}" for text, better in change.what]
    stages = [stage_text(each) for each in (change.found.now, change.found.before)] if change.found else ["", ""]
    return {
        "Question": change.first.question,
        "What changed": "; ".join(what),
        **dict(zip(STAGES, stages, strict=True)),
        said[0]: f"{action_text(change.first)}: {answer_text(change.first)}",
        said[1]: f"{action_text(change.second)}: {answer_text(change.second)}",
        WHY: change.why,
    }
