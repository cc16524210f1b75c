"""The tool that says why a page or sentence is not in the answer of a run."""

from __future__ import annotations

from typing import Annotated, Any

from mcp.types import CallToolResult
from pydantic import Field

from crag.analysis.misses import Wanted, explain_miss
from crag.export.misses import FateRecord, MissRecord
from crag.integrations.calls import in_turn
from crag.integrations.mcp.request import CurrentCall, line, reply, run_uri
from crag.messages.misses import missing_sentence
from crag.text.formats import format_score

SHOWN = 5
"""Chunks that the text lists; the record has more."""


@in_turn
def explain(
    call: CurrentCall,
    run: Annotated[str, Field(min_length=1, max_length=200, description="The run_id or uri of an answer of ask.")],
    document: Annotated[str, Field(max_length=300, description="A document, by its name or id.")] = "",
    page: Annotated[int | None, Field(ge=1, le=1_000_000, description="A page of the document, from 1.")] = None,
    text: Annotated[
        str, Field(max_length=2_000, description="A sentence as the document has it, five words or more.")
    ] = "",
) -> Annotated[CallToolResult, MissRecord]:
    """Says why a page or sentence is not in the answer of a stored run: where it was lost between search and answer,
    and the smallest change of settings that would have kept it. Give document and page, or text, or all. Asks no model
    and changes nothing."""
    library = call.library
    wanted = Wanted(document=line(document), page=page, text=text)
    miss = explain_miss(library, library.runs.trace(line(run).removeprefix(run_uri(""))), wanted)
    record = _safe(MissRecord.of(miss))
    missing = line(missing_sentence(miss)) if miss.fates else ""
    chunks = [_format_fate(fate) for fate in record.fates[:SHOWN]]
    return reply("\n".join(filter(None, [record.said, record.change_said, missing, *chunks])), record)


def _safe(record: MissRecord) -> MissRecord:
    """With the names of documents as single lines, which a model may read."""
    fates = tuple(
        fate.model_copy(update={"source": line(fate.source), "place": line(fate.place)}) for fate in record.fates
    )
    changed: dict[str, Any] = {
        "document": line(record.document) if record.document is not None else None,
        "said": line(record.said),
        "change_said": line(record.change_said),
        "fates": fates,
    }
    return record.model_copy(update=changed)


def _format_fate(fate: FateRecord) -> str:
    parts = [
        fate.stage,
        f"rank {fate.rank}" if fate.rank is not None else "",
        f"score {format_score(fate.score)}" if fate.score is not None else "",
        f"{fate.kept} of {fate.strips} strips kept" if fate.strips else "",
    ]
    return f"- {fate.source}, {fate.place or f'page {fate.page}'}: {', '.join(filter(None, parts))}"
