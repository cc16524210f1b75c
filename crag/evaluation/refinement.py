"""Knowledge refinement: texts decomposed into strips, scored in their context, filtered (paper §4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from crag.core.errors import ProviderError
from crag.core.settings import Settings
from crag.core.types import Chunk, Origin, Strip, WebPage
from crag.evaluation.keeping import Rule
from crag.evaluation.scoring import StripScorer, likeliest
from crag.evaluation.selection import LlmStripSelector
from crag.evaluation.strips import StripRefiner, filter_strips


@dataclass(frozen=True, slots=True, kw_only=True)
class RefinementParts:
    """What scores strips, and chooses among them.

    `check` is called between sources and raises to stop. `report` gets the first reason why `selector` failed.
    """

    scorer: StripScorer
    check: Callable[[], None] = lambda: None
    selector: LlmStripSelector | None = None
    report: Callable[[ProviderError], None] = lambda error: None


def score_strips(
    sources: Sequence[Chunk | WebPage],
    origin: Origin,
    question: str,
    settings: Settings,
    parts: RefinementParts,
) -> tuple[Strip, ...]:
    """The strips of all sources, which come as the search ranked them, kept or dropped; each source's in reading order.

    Of a long web page not every strip is scored; the others are dropped, their score None. Where a selector reads them
    too, it decides.
    """
    strips: list[Strip] = []
    cut = StripRefiner()
    decomposed = [(source, cut.decompose(source.text, settings)) for source in sources]
    for (source, spans), scores in zip(decomposed, parts.scorer.scores(question, decomposed), strict=True):
        parts.check()
        strips += [
            make_strip(source.id, source.text, origin, start, end, score, kept=False)
            for (start, end), score in zip(spans, scores, strict=True)
        ]
    if parts.selector is not None:
        read = strips if origin == "internal" else _readable(strips, question)
        said = {strip.id: strip for strip in apply_selection(read, question, parts.selector, parts.check, parts.report)}
        strips = [said.get(strip.id, strip) for strip in strips]
    return filter_strips(strips, Rule.of(settings))


def _readable(strips: Sequence[Strip], question: str) -> list[Strip]:
    """Of web pages the strips that have a score; of a page where none has, the likeliest."""
    found = []
    for group in _by_source(strips):
        scored = [strip for strip in group if strip.score is not None]
        found += scored or [group[place] for place in likeliest([strip.text for strip in group], question)]
    return found


def apply_selection(
    strips: Sequence[Strip],
    question: str,
    selector: LlmStripSelector,
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
        why="whole" if kept else "",
    )
