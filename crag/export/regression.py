"""An evaluation against its baseline as a report in Markdown, for a CI, and as a record in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from crag.analysis.intervals import LEVEL
from crag.analysis.metrics.results import Difference
from crag.analysis.regression import Change, Regression
from crag.export.markdown import escape_markdown
from crag.messages.evaluations import (
    change_text,
    left_out_notes,
    place_text,
    regression_sentence,
    stages_text,
    title_of,
    verdict,
)
from crag.text.formats import count

MEASURES = """
first_page_recall acted_page_recall acted_holds acted_right evidence_answer evidence_page evidence_words answer_holds
answer_f1 faithfulness abstained abstention_right searches calls
""".split()
"""Those in the report's table beside right answers and cited pages."""
LISTED = 200
"""Questions listed of each kind: a CI cuts a longer report off."""


def report(found: Regression) -> str:
    """The summary, the measures of both, then the questions that got worse, then those that got better."""
    heading = f"Evaluation of {escape_markdown(found.candidate.strategy)} against a baseline"
    blocks = [f"# {heading}", f"**{escape_markdown(regression_sentence(found))}**"]
    blocks += [escape_markdown(note) for note in left_out_notes(found)]
    blocks += ["\n".join(_table(found)), *_listed("Worse", found.worse), *_listed("Better", found.better)]
    return "\n\n".join(blocks) + "\n"


def reported(found: Regression) -> list[Difference]:
    """The differences in the report's table, those that both sides know."""
    known = [found.right, found.cited, *(found.measures[name] for name in MEASURES)]
    return [each for each in known if each.pairs]


def _table(found: Regression) -> Iterator[str]:
    yield f"| A question on average | Baseline | Now | Difference | {LEVEL} % interval | Questions |"
    yield "|---|--:|--:|--:|--:|--:|"
    for each in reported(found):
        interval = "–" if each.low is None or each.high is None else f"{each.low:+.3f} to {each.high:+.3f}"
        numbers = f"{each.first:.3f} | {each.second:.3f} | {each.value:+.3f}"
        yield f"| {escape_markdown(title_of(each.measure))} | {numbers} | {interval} | {each.pairs:,} |"


def _listed(title: str, changes: Sequence[Change]) -> Iterator[str]:
    yield f"## {title}: {count(len(changes), 'question')}"
    if changes:
        yield "\n".join(map(_line, changes[:LISTED]))
    if len(changes) > LISTED:
        yield f"And {len(changes) - LISTED:,} more."


def _line(change: Change) -> str:
    parts = [change_text(change), f"Expected: {place}." if (place := place_text(change)) else "", stages_text(change)]
    said = f"{parts[0][:1].upper()}{parts[0][1:]}."
    rest = " ".join(filter(None, (said, *parts[1:])))
    return f"- **{escape_markdown(change.question.question)}** {escape_markdown(rest)}"


def regression_record(found: Regression) -> dict[str, Any]:
    """One flat object: the verdict, right answers and cited pages with their intervals, each changed question."""
    return {
        "kind": "regression",
        "from": found.baseline.id,
        "to": found.candidate.id,
        "verdict": verdict(found),
        "worse": found.is_worse,
        "said": regression_sentence(found),
        "notes": left_out_notes(found),
        "same_documents": found.same_documents,
        "right": asdict(found.right),
        "cited": asdict(found.cited),
        "got_worse": [_record(each) for each in found.worse],
        "got_better": [_record(each) for each in found.better],
    }


def _record(change: Change) -> dict[str, Any]:
    return {
        "question_id": change.question.id,
        "question": change.question.question,
        "expected": place_text(change),
        "lost": change.lost,
        "gained": change.gained,
        "before": change.before,
        "now": change.now,
        "runs": [change.first.run_id, change.second.run_id],
        "said": change_text(change),
    }
