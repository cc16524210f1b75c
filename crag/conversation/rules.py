"""A follow-up made to stand alone by rules alone."""

from __future__ import annotations

from collections.abc import Sequence

from crag.core.exchanges import Exchange, Standalone


class RuleContextualizer:
    """Rules alone. Needs no model and never fails."""

    by = "rules"

    def standalone(self, question: str, history: Sequence[Exchange]) -> Standalone:
        return Standalone(question=question)
