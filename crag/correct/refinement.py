"""Knowledge refinement: texts decomposed into strips, scored by the evaluator, filtered (paper §4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crag.core.errors import ProviderError
from crag.core.protocols import Refiner, RetrievalEvaluator, StripSelector
from crag.core.settings import Settings
from crag.core.types import Origin, Passage, Strip
from crag.correct.strips import filter_strips
from crag.text.words import words

PAGE_STRIPS = 60
"""How many strips of one web page are scored: those that share most words with the question."""


def scored_strips(
    texts: Sequence[tuple[str, str]],
    origin: Origin,
    question: str,
    *,
    settings: Settings,
    refiner: Refiner,
    evaluator: RetrievalEvaluator,
    check: Callable[[], None],
    selector: StripSelector | None = None,
    failed: Callable[[ProviderError], None] = lambda error: None,
) -> tuple[Strip, ...]:
    """The strips of all (source id, text) pairs, in reading order, kept or dropped.

    `check` is called between grades and raises to stop. Of a long web page not every strip is scored; the others
    are dropped, their score None. Where a `selector` reads them too, what it says decides; `failed` hears the first
    reason why it could not.
    """
    strips = [
        make_strip(source, text, origin, start, end, None, kept=False)
        for source, text in texts
        for start, end in refiner.decompose(text, settings)
    ]
    chosen = strips if origin == "internal" else likeliest(strips, question)
    scores: dict[str, float | None] = {}
    for grade in evaluator.grade(question, [Passage(id=strip.id, text=strip.text) for strip in chosen]):
        check()
        scores[grade.passage_id] = grade.score
    scored = [replace(strip, score=scores[strip.id]) for strip in chosen]
    if selector is not None:
        scored = selected(scored, question, selector, check, failed)
    filtered = filter_strips(scored, floor=settings.strip_filter, top_k=settings.strip_top_k)
    by_id = {strip.id: strip for strip in filtered}
    return tuple(by_id.get(strip.id, strip) for strip in strips)


def selected(
    strips: Sequence[Strip],
    question: str,
    selector: StripSelector,
    check: Callable[[], None],
    failed: Callable[[ProviderError], None],
) -> list[Strip]:
    """The strips with what the selector says of each; those of a source that it could not read stay as they are."""
    groups, errors = _by_source(strips), []
    said: dict[str, bool] = {}
    for place, found in selector.select(question, [[strip.text for strip in group] for group in groups]):
        check()
        if isinstance(found, ProviderError):
            errors.append(found)
        else:
            said.update({strip.id: number in found for number, strip in enumerate(groups[place])})
    if errors:
        failed(errors[0])
    return [replace(strip, selected=said.get(strip.id)) for strip in strips]


def likeliest(strips: Sequence[Strip], question: str) -> list[Strip]:
    """Of each long web page, the strips that share most words with the question, in reading order."""
    asked = set(words(question))
    kept: set[str] = set()
    for group in _by_source(strips):
        ranked = sorted(group, key=lambda strip: -len(asked.intersection(words(strip.text))))
        kept.update(strip.id for strip in ranked[:PAGE_STRIPS])
    return [strip for strip in strips if strip.id in kept]


def _by_source(strips: Sequence[Strip]) -> list[list[Strip]]:
    found: dict[str, list[Strip]] = {}
    for strip in strips:
        found.setdefault(strip.source_id, []).append(strip)
    return list(found.values())


def make_strip(
    source: str, text: str, origin: Origin, start: int, end: int, score: float | None, *, kept: bool
) -> Strip:
    return Strip(
        id=f"{source}:{start}-{end}",
        source_id=source,
        origin=origin,
        start=start,
        end=end,
        text=text[start:end],
        score=score,
        kept=kept,
    )
