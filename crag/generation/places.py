"""Numbered sources: a page, and the strips of it that a writer is shown and cites."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crag.core.types import Chunk, Citation, Strip, WebPage
from crag.generation.citations import build_citation, usable_of
from crag.text.guard import enclose, injection_within, mark_untrusted, mask_injection

Sources = Mapping[str, Chunk | WebPage]
"""Chunks and web pages by the ids that strips have of them."""

MOST_PLACES = 8
"""Numbered sources that a writer is shown at most."""
CHARS_A_TOKEN = 3.2
"""Fewer than English text has, so that what is counted here fits the model's own count too."""
APART = " … "
"""Stands between two strips that do not touch."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A numbered source: strips of one page or web page, the best first."""

    strips: tuple[Strip, ...]
    sources: Sources

    @property
    def best(self) -> Strip:
        return self.strips[0]

    @property
    def source(self) -> Chunk | WebPage | None:
        return self.sources.get(self.best.source_id)

    @property
    def text(self) -> str:
        """The words of the strips in reading order, with " … " for what lies between two of them."""
        return "".join(lead + said for lead, said, _ in self._parts())

    def fenced(self, **marks: object) -> str:
        """As a writer reads it: between tags, with what its sources say to a model marked."""
        text = ""
        for lead, said, strip in self._parts():
            source, start = self.sources.get(strip.source_id), strip.end - len(said)
            text += lead + mark_untrusted(said, injection_within(source.text, start, strip.end) if source else None)
        return enclose("source", text, {**marks, "place": place_of(self.source)})

    def cite(self, number: int) -> Citation:
        """The citation of all its strips; page and address are those of the best one."""
        made = [
            build_citation(number, each, self.sources.get(each.source_id), 0, len(each.text)) for each in self.strips
        ]
        sure = [each.recognised for each in made if each.recognised is not None]
        rects = tuple(dict.fromkeys(rect for each in made for rect in each.rects))
        return replace(made[0], quote=self.text, rects=rects, recognised=min(sure, default=None))

    def _parts(self) -> Iterator[tuple[str, str, Strip]]:
        """For each strip what parts it from the one before, and those of its words that were not said before it."""
        before: Strip | None = None
        for strip in sorted(self.strips, key=self._start):
            lead, said, source = "", strip.text, self.sources.get(strip.source_id)
            if before is not None:
                apart = self._start(strip) - self._start(before) - len(before.text)
                if apart < 0 and said in before.text:
                    continue
                if apart < 0 and before.text.endswith(said[:-apart]):
                    said = said[-apart:]
                elif source and before.source_id == strip.source_id:
                    between = source.text[before.end : strip.start]
                    lead = APART if between.strip() else between or " "
                else:
                    lead = " " if apart in (0, 1) else APART
            yield lead, said, strip
            before = strip

    def _start(self, strip: Strip) -> int:
        """Where a strip begins on its page."""
        source = self.sources.get(strip.source_id)
        return strip.start + (source.start if isinstance(source, Chunk) else 0)


def group_strips(
    knowledge: Sequence[Strip],
    sources: Sources,
    tokens: float = math.inf,
    *,
    first: Strip | None = None,
    most: int = MOST_PLACES,
) -> list[Place]:
    """The best strips that fit into `tokens` with their tags, as at most `most` places, ordered by their best strips.

    `first` stands before all, whatever its score. A strip that is longer than all the room is cut, and alone.
    """
    others = [strip for strip in usable_of(knowledge)[0] if strip is not first]
    groups: dict[object, list[Strip]] = {}
    room = tokens * CHARS_A_TOKEN
    for strip in [*filter(None, [first]), *sorted(others, key=lambda strip: -(strip.score or 0.0))]:
        key = place_key(strip, sources)
        if key not in groups and len(groups) == most:
            continue
        place = {"number": most, "place": place_of(sources.get(strip.source_id))}
        room -= len(strip.text) + len(APART if key in groups else enclose("source", "", place))
        if room < 0 and groups:
            break
        if room < 0:
            text = f"{strip.text[: int(room)]} …"
            strip = replace(strip, text=text, end=strip.start + len(text))
        groups.setdefault(key, []).append(strip)
    return [Place(tuple(strips), sources) for strips in groups.values()]


def place_key(strip: Strip, sources: Sources) -> object:
    """What strips of one place have in common: a document's page, or a source of which no page is known."""
    source = sources.get(strip.source_id)
    if isinstance(source, Chunk) and source.page:
        return source.document_id, source.page, source.place
    return strip.source_id


def place_of(source: Chunk | WebPage | None) -> str:
    """Title, page and heading of a source, as a mark of its tag: without what could close it, or speaks to a model."""
    if isinstance(source, Chunk):
        heading = source.context.removeprefix(source.title).lstrip(" ›").partition("\n")[0]
        place = ", ".join(dict.fromkeys(filter(None, (source.title, source.where, heading))))
    else:
        place = f"web page: {source.title}" if source else "unknown"
    return " ".join(mask_injection(re.sub(r"[\"<>\s]+", " ", place)).split())[:160].strip()
