"""What a whole workspace's runs would become under other settings: run by run, as a matrix, and summed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Literal

from crag.core.types import Action

Becomes = Action | Literal["none", "unknown"]
"""An action; "none": nothing is graded; "unknown": only a new run could tell."""
Documents = Literal["not used", "known", "unknown"]
"""Which strips of the library's chunks would be kept."""
Web = Literal["not needed", "known", "unknown"]
"""What the web would bring, and which strips of that would be kept."""


class Missing(Enum):
    """What only a new run could tell, each with its sentence."""

    NO_ROUND = "What this run would decide: it ended before anything was retrieved."
    OTHER_RETRIEVAL = "What would be retrieved with another document confidence or time decay."
    NOT_RETRIEVED = "How chunks after the first {k} would score: they were not retrieved."
    OTHER_LENGTH = "How the chunks would score with another length of text graded."
    NO_GRADES = "How each chunk would score: this run did not grade them one by one."
    NO_JOINT = "How all chunks would score together: this run graded them one by one."
    OTHER_JOINT = "How the best {k} of its chunks would score together: this run graded all of them in one."
    NO_LOOP = "Where the corrective loop would lead: the library was not searched again in this run."
    OTHER_LOOP = (
        "Where the corrective loop would lead: its query would be made from other chunks, or of more or fewer words."
    )
    NO_CHUNKS = "What chunks after the first {k} would hold: they were not retrieved."
    NOT_SCORED = "Which strips of your documents would be kept: they were never scored in this run."
    NOT_JUDGED = "Which strips of your documents a language model would keep: it did not read them."
    NOT_SEARCHED = "What the web would bring: it was not searched in this run."
    OTHER_SEARCH = "What the web would bring: it would be asked another query, or for more or fewer results."
    PAGES_NOT_SCORED = "Which strips of the web pages would be kept: they were not cut and scored that way in this run."
    PAGES_NOT_JUDGED = "Which strips of the web pages a language model would keep: it did not read them."


@dataclass(frozen=True, slots=True)
class Unknown:
    """Something that only a new run could tell. `k`: the number of chunks that it speaks of, if it does."""

    what: Missing
    k: int = 0

    @property
    def sentence(self) -> str:
        return self.what.value.format(k=self.k)


@dataclass(frozen=True, slots=True)
class Saved:
    """Whole steps of a stored run that would not be taken: what they took then.

    `searches`: web searches that left. `seconds`: of the steps, not of the calls. `calls`: outside calls, searches
    too; `uncounted` counts the steps whose calls the run does not tell apart from those of steps that stay.
    """

    searches: int = 0
    calls: int = 0
    seconds: float = 0.0
    uncounted: int = 0

    @classmethod
    def of(cls, parts: Iterable[Saved]) -> Saved:
        """All of them together."""
        every = list(parts)
        return cls(**{name: sum(getattr(each, name) for each in every) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class KeptStrips:
    """Strips kept before and after, over the `runs` of which both are known."""

    before: int = 0
    after: int = 0
    runs: int = 0


@dataclass(frozen=True, slots=True)
class FlipRow:
    """One stored run under other settings.

    `before`: None where the run decided nothing. `after` None: see `becomes`. `reason`: why the action
    can't be known; None where it can. `open`: what else is unknown. `round` is the retrieval acted on.
    `documents_kept` and `pages_kept` count the kept strips; None where unknown. `searches`, `refines`: it would search
    the web, or refine documents, which the run did not set out to do: what that takes is unknown.
    """

    run_id: str
    before: Action | None
    after: Action | None
    becomes: Becomes
    reason: Unknown | None
    open: tuple[Unknown, ...]
    round: int
    documents: Documents
    web: Web
    documents_kept: int | None
    pages_kept: int | None
    kept_before: int
    saved: Saved
    searches: bool
    refines: bool

    @property
    def flips(self) -> bool:
        """Whether the action is known to differ from the stored run's."""
        return self.after is not None and self.after != self.before

    @property
    def kept(self) -> int | None:
        """Strips kept in all; None where unknown."""
        if self.becomes == "unknown" or self.documents_kept is None or self.pages_kept is None:
            return None
        return self.documents_kept + self.pages_kept


@dataclass(frozen=True)
class Outcome:
    """All stored runs under other settings, in the ledger's order."""

    rows: tuple[FlipRow, ...]

    @cached_property
    def matrix(self) -> dict[tuple[Becomes, Becomes], tuple[str, ...]]:
        """The run ids by (what it was, what it would be); only cells that hold a run."""
        cells: defaultdict[tuple[Becomes, Becomes], list[str]] = defaultdict(list)
        for row in self.rows:
            cells[(row.before or "none", row.becomes)].append(row.run_id)
        return {cell: tuple(ids) for cell, ids in cells.items()}

    @cached_property
    def flips(self) -> tuple[str, ...]:
        """The runs whose action is known to change."""
        return tuple(row.run_id for row in self.rows if row.flips)

    @cached_property
    def reasons(self) -> dict[Unknown, int]:
        """Why an action can't be known, with the number of runs; the most frequent first."""
        return dict(Counter(row.reason for row in self.rows if row.reason).most_common())

    @cached_property
    def open(self) -> dict[Unknown, int]:
        """What is unknown though the action is known, with the number of runs; the most frequent first."""
        return dict(Counter(reason for row in self.rows for reason in row.open).most_common())

    @cached_property
    def saved(self) -> Saved:
        """The steps that would not be taken, over the runs whose action is known."""
        return Saved.of(row.saved for row in self.rows)

    @cached_property
    def searches_added(self) -> int:
        """Runs that would search the web and did not set out to; their calls and seconds are unknown."""
        return sum(row.searches for row in self.rows)

    @cached_property
    def refinements_added(self) -> int:
        """Runs that would refine documents and did not set out to; their calls and seconds are unknown."""
        return sum(row.refines for row in self.rows)

    @cached_property
    def kept(self) -> KeptStrips:
        """Strips kept before and after, where both are known."""
        known = [(row.kept_before, row.kept) for row in self.rows]
        pairs = [(before, after) for before, after in known if after is not None]
        return KeptStrips(sum(before for before, _ in pairs), sum(after for _, after in pairs), len(pairs))
