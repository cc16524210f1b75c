"""What the documents of a library are about: some of their titles and commonest headings."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection, and_, or_, select

from crag.core.events import About
from crag.index.chunk_index import Numbers
from crag.storage.catalog import Catalog
from crag.storage.tables import chunks
from crag.text.sentences import informative_heading

DOCUMENTS = 24
"""How many documents are looked into, spread over all."""
CHUNKS = 200
"""And how many of their chunks for headings, spread over these."""
TITLES = 5
HEADINGS = 8

_Each = TypeVar("_Each")


def describe_documents(connection: Connection, catalog: Catalog, allowed: Numbers | None) -> About:
    """What the `allowed` documents of the catalog are about; None: all of them.

    A heading of more documents is commoner; of those in as many, the one of more chunks.
    """
    places = np.arange(len(catalog.numbers)) if allowed is None else np.searchsorted(catalog.numbers, allowed)
    looked = {int(catalog.numbers[place]): catalog.documents[place][0] for place in _spread(places.tolist(), DOCUMENTS)}
    said, having = Counter[str](), defaultdict[str, set[int]](set)
    if looked:
        each = CHUNKS // len(looked)
        some = [
            and_(chunks.c.document == number, chunks.c.ordinal.in_(_spread(range(document.chunks), each)))
            for number, document in looked.items()
        ]
        for number, context in connection.execute(select(chunks.c.document, chunks.c.context).where(or_(*some))):
            if heading := informative_heading(context.removeprefix(looked[number].title).split(" › ")[-1]):
                said[heading] += 1
                having[heading].add(number)
    headings = sorted(said, key=lambda heading: (-len(having[heading]), -said[heading], heading))
    titles = [document.title or document.name for document in looked.values()]
    return About(
        documents=len(places),
        titles=tuple(_spread(list(dict.fromkeys(titles)), TITLES)),
        headings=tuple(headings[:HEADINGS]),
    )


def _spread(of: Sequence[_Each], most: int) -> list[_Each]:
    """At most that number of them, evenly from the first on."""
    return [of[place * len(of) // most] for place in range(most)] if len(of) > most else list(of)
