"""What a run handed over to the program that asked, source by source."""

from __future__ import annotations

from crag.core.trace import Trace
from crag.core.types import Chunk, WebPage

__all__ = ["handed_over"]


def handed_over(trace: Trace) -> list[tuple[Chunk | WebPage, str]]:
    """The sources whose strips a run handed over, in their order, each with the kept words; what lies between two
    strips that do not stand together is told as " … ". Empty of a run that wrote an answer, or did not end well.
    """
    sources, said, ends = trace.sources, dict[str, str](), dict[str, int]()
    for strip in trace.kept() if trace.handed_over else ():
        if strip.source_id in sources:
            apart = sources[strip.source_id].text[ends.get(strip.source_id, strip.start) : strip.start].strip()
            before = said.get(strip.source_id)
            said[strip.source_id] = strip.text if before is None else f"{before}{' … ' if apart else ' '}{strip.text}"
            ends[strip.source_id] = strip.end
    return [(sources[id], text) for id, text in said.items()]
