"""All stored runs of a workspace, each reduced to what re-deciding needs, re-decided at once.

Every run comes out as `whatif.redecide` has it for one trace, by the same pure functions; only the counting of strips
is done over all runs together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from crag.core.policy import keeps_chunk, loops, refines, searches_web, uses_documents
from crag.core.settings import Settings
from crag.core.types import Action, Grade
from crag.evaluator.trigger import decide
from crag.measure.entries import Entry, Retrieval, Stage
from crag.measure.flips import Outcome, Row, Saved

__all__ = ["Ledger"]

OTHER_LENGTH = "How the chunks would score with another length of text graded."
NO_JOINT = "How all chunks would score together: this run graded them one by one."
NOT_RETRIEVED = "How chunks after the first {k} would score: they were not retrieved."
NO_GRADES = "How each chunk would score: this run did not grade them one by one."
NO_LOOP = "Where the corrective loop would lead: the library was not searched again in this run."
NO_ROUND = "What this run would decide: it ended before anything was retrieved."


class _Strips:
    """The strips of all runs side by side: how many of each source pass, for any floor."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self.place: list[dict[str, int]] = []
        """By run: where each of its sources stands in what `passing` returns."""
        scores: list[float] = []
        selected: list[int] = []
        owner: list[int] = []
        count = 0
        for entry in entries:
            own: dict[str, int] = {}
            self.place.append(own)
            for source in entry.sources:
                own[source.id] = count
                for score, chosen, kept in zip(source.scores, source.selected, source.kept, strict=True):
                    if score is not None or kept:
                        scores.append(np.nan if score is None else score)
                        selected.append(-1 if chosen is None else int(chosen))
                        owner.append(count)
                count += 1
        self._count, self._scores = count, np.array(scores, dtype=np.float64)
        self._selected, self._owner = np.array(selected, dtype=np.int8), np.array(owner, dtype=np.int64)
        scored = ~np.isnan(self._scores)
        some = np.bincount(self._owner[scored], minlength=count) > 0
        self._fills = ~scored & ~some[self._owner]
        """Unscored strips of sources where nothing is scored."""

    def passing(self, settings: Settings) -> list[int]:
        """By source: how many of its strips `filter_strips` would keep if there were room for all."""
        passes = (self._scores >= settings.strip_filter) | self._fills
        if settings.strip_judge == "llm":
            passes = np.where(self._selected < 0, passes, self._selected == 1)
        found: list[int] = np.bincount(self._owner[passes], minlength=self._count).tolist()
        return found


class Ledger:
    """All stored runs, ready to be re-decided together; safe to share, nothing in it changes."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = tuple(entries)
        self._strips = _Strips(self.entries)
        self._facts = [_Facts(entry, place) for entry, place in zip(self.entries, self._strips.place, strict=True)]

    def redecide(self, settings: Settings) -> Outcome:
        """Every run under `settings`. No model, library or web is asked."""
        passing = self._strips.passing(settings)
        return Outcome(rows=tuple(facts.row(settings, passing) for facts in self._facts))


class _Facts:
    """One run with what no setting changes about it worked out."""

    def __init__(self, entry: Entry, place: dict[str, int]) -> None:
        self.entry, self.place = entry, place
        self.pages = tuple(place[source.id] for source in entry.sources if source.is_page)
        self.pages_kept = sum(sum(source.kept) for source in entry.sources if source.is_page)
        self.kept = sum(sum(source.kept) for source in entry.sources)
        self.empty = frozenset(source.id for source in entry.sources if not source.kept)
        self.page_strips = any(source.kept for source in entry.sources if source.is_page)
        was, before = entry.settings, entry.before
        self.k, self.grade_chars, self.llm = was.k, was.grade_chars, was.strip_judge == "llm"
        self.cut = was.strips, was.strip_sentences
        self.refined = refines(before, was)
        self.meant_web = searches_web(before, was)
        self.meant_refine = self.refined and uses_documents(before, was)

    def row(self, settings: Settings, passing: list[int]) -> Row:
        """This run under `settings`; `passing` as the strips of all runs have it."""
        after, number, reason = self._decision(settings)
        graded = settings.evaluator != "none"
        known = after is not None or not graded
        uses = known and uses_documents(after, settings)
        searches = known and searches_web(after, settings)
        documents = self._documents_kept(after, number, settings, passing) if uses else 0
        pages = self._pages_kept(settings, passing) if searches else 0
        return Row(
            run_id=self.entry.run_id,
            before=self.entry.before,
            after=after,
            fate=after or ("unknown" if graded else "none"),
            reason=reason,
            round=number,
            documents="not used" if not uses else "unknown" if documents is None else "known",
            web="not needed" if not searches else "known" if self.entry.searched else "unknown",
            documents_kept=documents,
            pages_kept=pages,
            kept_before=self.kept,
            unjudged=self.entry.searched and searches and settings.refine_web and self._unjudged(settings),
            saved=self._saved(after, number, settings) if known else _NOTHING,
            searches=searches and not self.entry.searched and not self.meant_web,
            refines=uses and documents is None and not self.meant_refine,
        )

    def _decision(self, settings: Settings) -> tuple[Action | None, int, str]:
        """The action that would be acted on, its round, and why there is none where it can't be known."""
        if settings.evaluator == "none":
            return None, 0, ""
        number, action = 0, None
        for number, stored in enumerate(self.entry.rounds):
            grades = self._grades(stored, settings)
            if isinstance(grades, str):
                return None, number, grades
            action = decide(grades, upper=settings.upper, lower=settings.lower, aggregation=settings.aggregation).action
            if not loops(action, round=number, settings=settings):
                return action, number, ""
            if number + 1 == len(self.entry.rounds) and not stored.retried:
                return None, number, NO_LOOP
        return action, number, "" if action else NO_ROUND

    def _grades(self, stored: Retrieval, settings: Settings) -> Sequence[Grade] | str:
        """The stored grades that `settings` would look at; or why a new one would be needed."""
        if settings.grade_chars != self.grade_chars:
            return OTHER_LENGTH
        if settings.evaluator == "joint":
            return [stored.joint] if stored.joint is not None and settings.k == self.k else NO_JOINT
        if settings.k > len(stored.chunks) == self.k:
            return NOT_RETRIEVED.format(k=self.k)
        grades = [grade for grade in stored.grades[: settings.k] if grade is not None]
        return grades if len(grades) == len(stored.chunks[: settings.k]) else NO_GRADES

    def _documents_kept(self, action: Action | None, number: int, settings: Settings, passing: list[int]) -> int | None:
        """Strips kept of the round's chunks; None where they were never cut and scored."""
        if not self.entry.rounds:
            used: set[str] = set()
        else:
            stored, k = self.entry.rounds[number], settings.k
            chunks = zip(stored.chunks[:k], stored.grades[:k], strict=True)
            used = {id for id, grade in chunks if keeps_chunk(grade, settings)}
        if not refines(action, settings):
            return len(used)
        if not self.refined or self.cut != (settings.strips, settings.strip_sentences) or not used <= self.place.keys():
            return None
        if settings.strip_judge == "llm" and not self.llm and not used <= self.empty:
            return None
        return _room(sum(passing[self.place[id]] for id in used), settings)

    def _pages_kept(self, settings: Settings, passing: list[int]) -> int | None:
        """Strips kept of web pages; None where the web was not searched."""
        if not self.entry.searched:
            return None
        if not settings.refine_web:
            return self.pages_kept
        return _room(sum(passing[place] for place in self.pages), settings)

    def _unjudged(self, settings: Settings) -> bool:
        return settings.strip_judge == "llm" and not self.llm and self.page_strips

    def _saved(self, action: Action | None, number: int, settings: Settings) -> Saved:
        """What the stages took that would not be taken."""
        left = [stage.took for stage in self.entry.stages if not _takes(stage, action, number, settings)]
        return Saved.of(left) if left else _NOTHING


_NOTHING = Saved()


def _takes(stage: Stage, action: Action | None, number: int, settings: Settings) -> bool:
    """Whether a run that acts on round `number` takes this stage."""
    match stage.kind:
        case "retrieve":
            return stage.round <= number
        case "grade":
            return stage.round <= number and action is not None
        case "retry":
            return stage.round < number or (action is not None and loops(action, round=stage.round, settings=settings))
        case "documents":
            return uses_documents(action, settings) and refines(action, settings)
        case "web":
            return searches_web(action, settings)
        case "pages":
            return searches_web(action, settings) and settings.refine_web


def _room(passing: int, settings: Settings) -> int:
    """Of the strips that pass, as many as there is room for."""
    return min(passing, settings.strip_top_k) if settings.strip_top_k else passing
