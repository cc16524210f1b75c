"""What runs said of a chunk over time, or of all chunks of a document: its track record."""

from __future__ import annotations

from dataclasses import dataclass, replace

from crag.core.trace import Trace

__all__ = ["Track", "track_chunks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """How often runs retrieved it, how often it was among an answer's evidence, handed over or not, and its grades.

    `graded` counts the grades that `score_sum` adds up, each 0..1. Times are those of the runs' starts (ISO 8601, UTC;
    empty: never). The last score and action are a chunk's alone: of a document they are None and empty.
    """

    retrieved: int = 0
    used: int = 0
    graded: int = 0
    score_sum: float = 0.0
    last_score: float | None = None
    last_action: str = ""
    last_at: str = ""
    last_used: str = ""

    @property
    def mean_score(self) -> float | None:
        """None where nothing was graded."""
        return self.score_sum / self.graded if self.graded else None

    def after(self, run: Track) -> Track:
        """With one more run, which `tracked` gives."""
        return replace(
            run,
            retrieved=self.retrieved + run.retrieved,
            used=self.used + run.used,
            graded=self.graded + run.graded,
            score_sum=self.score_sum + run.score_sum,
            last_score=self.last_score if run.last_score is None else run.last_score,
            last_action=run.last_action or self.last_action,
            last_at=max(self.last_at, run.last_at),
            last_used=max(self.last_used, run.last_used),
        )


def track_chunks(trace: Trace) -> dict[str, Track]:
    """What one run says of each chunk that it retrieved from the library, by the chunk's id.

    A chunk counts once, however many searches of the run found it; its score is that of the last one that graded it.
    """
    answered = trace.handed_over or (trace.answer is not None and not trace.answer.abstained)
    used = {strip.source_id for strip in trace.kept("internal")} if answered else set()
    scores = {id: grade.score for each in trace.rounds for id, grade in each.grades.items() if grade.score is not None}
    ids = dict.fromkeys(found.chunk.id for each in trace.rounds for found in each.chunks)
    return {
        id: Track(
            retrieved=1,
            used=int(id in used),
            graded=int(id in scores),
            score_sum=scores.get(id, 0.0),
            last_score=scores.get(id),
            last_action=str(trace.action or ""),
            last_at=trace.started_at,
            last_used=trace.started_at if id in used else "",
        )
        for id in ids
    }
