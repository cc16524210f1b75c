"""Values of runs, calls and documents of which a test says only what matters to it."""

from collections.abc import Sequence
from typing import Any

from crag.analysis.evaluate import Evaluation
from crag.core.runfacts import DaySpending
from crag.core.settings import StoredSettings
from crag.core.strategies import STRATEGIES
from crag.core.types import Action, Aggregation, Chunk, Decision, Document

DAY = "2026-01-01"


def decided(action: Action = Action.AMBIGUOUS, **more: Any) -> Decision:
    """A decision by one grade; `more`: what else is so of it."""
    given = {"deciding_id": None, "score": 0.5, "upper": 0.7, "lower": 0.3, "graded": 1, **more}
    return Decision(action=action, aggregation=Aggregation.ANY, **given)


def document_of(chunks: Sequence[Chunk], **more: Any) -> Document:
    """The document that these chunks are all of, with a page each."""
    whose = {"id": chunks[0].document_id, "name": chunks[0].source, "title": chunks[0].title}
    counted = {"size": 3, "pages": len(chunks), "chunks": len(chunks)}
    return Document(**{**whose, **counted, "added_at": f"{DAY}T00:00:00+00:00", "model": "m", **more})


def evaluated(**more: Any) -> Evaluation:
    """An evaluation of one question that has ended; `more`: what else is so of it."""
    settings = StoredSettings(STRATEGIES["balanced"].settings)
    whose = {"id": "a", "set_id": "s", "set_name": "s.csv", "strategy": "balanced", "stored": settings, "parts": None}
    counted = {"questions": 1, "done": 1, "started_at": f"{DAY}T00:00:00", "finished_at": f"{DAY}T00:00:00"}
    return Evaluation(**{**whose, **counted, **more})


def spent(provider: str, model: str = "", **more: Any) -> DaySpending:
    """What one call of a provider took that named no tokens; `more`: what else is so of its day."""
    counted = {"calls": 1, "failed": 0, "uncounted": 0, "seconds": 0.5, "input_tokens": 0, "output_tokens": 0}
    return DaySpending(**{"day": DAY, "provider": provider, "model": model, **counted, **more})
