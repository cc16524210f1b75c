"""What a map's points are: chunks with their documents, topics and first words. Of many, a part is drawn one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crag.analysis.atlas import projection
from crag.analysis.atlas.layout import Points
from crag.analysis.atlas.projection import Projection
from crag.export.html.safe_text import excerpt
from crag.index.chunk_index import Numbers
from crag.storage.library import Library

DRAWN, SAMPLED = 4_000, 2_500
"""The most points that are drawn one by one; of more, an even part is, over a picture of all: the page's rules for
scripts, which allow none that is made from text, keep plotly's WebGL from working."""
_FIRST = 80
"""Characters of a chunk that are shown of it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Chunks:
    """The n chunks of a map: `documents` (n,) are places in `names` and `ids`, `clusters` (n,) in `titles`.

    `numbers` (n,) ascending, `points` (n, 2); `first`: the page and the first words of those that are drawn, by number.
    """

    numbers: Numbers
    points: Points
    documents: NDArray[np.int64]
    names: Sequence[str]
    ids: Sequence[str]
    first: Mapping[int, tuple[int, str]]
    clusters: NDArray[np.int16]
    titles: Sequence[str]


def drawn_rows(count: int) -> NDArray[np.int64]:
    """Which of the chunks are drawn one by one, ascending."""
    return np.unique(np.linspace(0, count - 1, count if count <= DRAWN else SAMPLED).astype(np.int64))


def read_chunks(library: Library, found: Projection) -> Chunks:
    """What the points of a projection are, but for those that were deleted since. Raises StorageError."""
    spans, names = library.points.spans(), library.documents.names()
    there, documents = spans.find(found.numbers)
    numbers, clusters = found.numbers[there], found.clusters[there]
    drawn = drawn_rows(len(numbers))
    wanted = numbers[drawn].tolist()
    texts, pages = library.points.texts(wanted), library.points.pages(wanted)
    return Chunks(
        numbers=numbers,
        points=found.points[there],
        documents=documents,
        names=[names.get(id, "") for id in spans.ids],
        ids=spans.ids,
        first={number: (pages.get(number, 0), excerpt(text[: 2 * _FIRST], _FIRST)) for number, text in texts.items()},
        clusters=clusters,
        titles=[", ".join(each) for each in projection.cluster_words(texts, numbers[drawn], clusters[drawn])],
    )
