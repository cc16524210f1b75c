"""Searching a library: which candidates its index has for a question, and in which order they stand.

The lines of a financial statement that a question of figures is after. Pure.

"What is the quick ratio?" stands nowhere in a report; cash, receivables and current liabilities do. Words that a
report itself uses (revenue) are left out: they are found as they are.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import numpy as np
from sqlalchemy import Connection, and_, or_, select

from crag.core.events import About
from crag.core.protocols import SearchQuery
from crag.core.types import RetrievedChunk
from crag.index.chunk_index import Candidates, ChunkIndex, Numbers, Scores, Vectors
from crag.retrieval.ranking import join_candidates, nearer, rank, search_terms, without_names
from crag.storage import feed, store
from crag.storage.catalog import Catalog
from crag.storage.index_sync import IndexSync
from crag.storage.tables import chunks
from crag.text.sentences import informative_heading

_WORDS = re.compile(r"[a-z]+(?:\s?&\s?[a-z]+)*")
_INCOME, _BALANCE, _CASH = "statement of income", "balance sheet", "cash flows"
_PROPERTY = f"property plant and equipment net {_BALANCE}"
_SPENT = f"purchases of property plant and equipment {_CASH}"
_CURRENT = f"total current assets total current liabilities {_BALANCE}"
LINES = {
    "sales growth": "net sales change",
    "organic growth": "organic sales growth",
    "gross margin": f"gross profit cost of sales revenue {_INCOME}",
    "gross profit": "cost of sales cost of goods sold revenue",
    "operating margin": "operating income revenue statement of operations",
    "profit margin": f"net income revenue {_INCOME}",
    "net margin": "net income revenue",
    "cogs": "cost of goods sold cost of sales",
    "ebitda": "operating income depreciation and amortization",
    "ebit": "operating income",
    "d&a": "depreciation and amortization",
    "sg&a": "selling general and administrative expenses",
    "r&d": "research and development expenses",
    "eps": "earnings per share diluted",
    "effective tax rate": "provision for income taxes income before income taxes",
    "tax rate": "provision for income taxes income before taxes",
    "interest coverage": "interest expense operating income",
    "working capital": _CURRENT,
    "current ratio": _CURRENT,
    "quick ratio": f"cash and cash equivalents accounts receivable total current liabilities {_BALANCE}",
    "liquidity": "cash and cash equivalents current assets current liabilities",
    "capex": f"capital expenditures {_SPENT}",
    "capital expenditure": _SPENT,
    "capital intensive": "property plant and equipment capital expenditures total assets",
    "ppne": _PROPERTY,
    "pp&e": _PROPERTY,
    "dpo": "accounts payable cost of goods sold inventories",
    "days payable": "accounts payable cost of goods sold inventories",
    "dso": "accounts receivable net sales",
    "inventory turnover": "inventories cost of goods sold",
    "asset turnover": "net sales total assets",
    "fixed asset turnover": "property plant and equipment net sales",
    "fcf": "net cash provided by operating activities capital expenditures",
    "free cash flow": "net cash provided by operating activities capital expenditures",
    "operating cash flow": f"net cash provided by operating activities {_CASH}",
    "return on assets": "net income total assets",
    "return on equity": "net income shareholders equity",
    "payout ratio": "dividends paid net income",
    "dividend payout": "cash dividends paid net income",
    "debt to equity": f"total debt shareholders equity {_BALANCE}",
}
"""What a question may call a figure, and the words of the lines it is worked out from or shown in."""


def line_items(question: str) -> str:
    """The words of those lines that the question itself does not have; nothing for a question of no such figure."""
    words = ["".join(word.split()) for word in _WORDS.findall(question.lower())]
    asked = f" {' '.join(words)} "
    called = [lines for name, lines in LINES.items() if f" {name} " in asked or f" {name}s " in asked]
    return " ".join(dict.fromkeys(word for lines in called for word in lines.split() if f" {word} " not in asked))


DOCUMENTS = 24
"""How many documents are looked into, spread over all."""
CHUNKS = 200
"""And how many of their chunks for headings, spread over these."""
TITLES = 5
HEADINGS = 8
_ABOUTS = 256

_Each = TypeVar("_Each")


def about(connection: Connection, catalog: Catalog, allowed: Numbers | None) -> About:
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


CANDIDATES = 400
"""How many chunks are taken from the index by meaning, and as many by words."""
_OF_NAMED = 200
"""And how many of the documents that the question names."""


class Search:
    """Finds chunks of one library. Thread-safe."""

    def __init__(self, upkeep: IndexSync) -> None:
        self._upkeep = upkeep
        self._catalog: Catalog | None = None
        self._lock = threading.Lock()

    def without_names(self, connection: Connection, query: SearchQuery) -> str:
        """The query without the names of the documents that it names; "" where it names none. Raises FilterError."""
        if query.mode != "hybrid":
            return ""
        catalog = self._catalog_of(connection)
        named = catalog.titles.scores(query.text)
        numbers = catalog.outstanding(named, catalog.allowed(query.where, query.min_confidence))
        documents = [catalog.documents[place][0] for place in np.searchsorted(catalog.numbers, numbers)]
        return without_names(query.text, [f"{document.name} {document.title}" for document in documents])

    def through_index(
        self, connection: Connection, query: SearchQuery, vector: Vectors, unnamed: Vectors | None = None
    ) -> list[RetrievedChunk]:
        """The chunks of a query, best first. Raises IndexUnavailableError, FilterError.

        `unnamed` is the vector of the query without the names of documents: a chunk of a document that is named is as
        near as the nearer of the two.
        """
        catalog = self._catalog_of(connection)
        groups = [] if query.mode == "dense" else _groups(query)
        allowed = catalog.allowed(query.where, query.min_confidence)
        named = catalog.titles.scores(query.text) if query.mode == "hybrid" else None
        outstanding = catalog.outstanding(named, allowed) if named is not None else np.zeros(0, np.int64)

        def found(index: ChunkIndex) -> Candidates:
            candidates = index.top(vector, groups, max(CANDIDATES, query.k), allowed)
            if len(outstanding) and len(outstanding) < len(catalog.numbers):
                named_ones = index.top(vector, groups, max(_OF_NAMED, query.k), outstanding)
                candidates = join_candidates(candidates, named_ones)
            if unnamed is not None and len(outstanding):
                candidates = nearer(candidates, index.top(unnamed, groups, max(_OF_NAMED, query.k), outstanding))
            return candidates

        candidates = self._upkeep.use(feed.contents(connection), catalog.generation, found)
        return _rank(connection, query, vector, catalog, candidates, named)

    def through_records(self, connection: Connection, query: SearchQuery, vector: Vectors) -> list[RetrievedChunk]:
        """The same among the chunks of the records that share words with the query. Raises FilterError."""
        catalog = self._catalog_of(connection)
        words = list(dict.fromkeys(word for group in _groups(query) for word in group))
        allowed = catalog.allowed(query.where, query.min_confidence)
        numbers, lexical = feed.with_words(connection, words, max(CANDIDATES, query.k), allowed)
        candidates = Candidates(numbers, np.full(len(numbers), np.nan, np.float32), lexical)
        return _rank(connection, query, vector, catalog, candidates, catalog.titles.scores(query.text))

    def about(self, connection: Connection, where: str, min_confidence: float) -> About:
        """What the documents are about that a search with these filters would use. Raises FilterError."""
        catalog = self._catalog_of(connection)
        known = catalog.abouts.get((where, min_confidence))
        if known is None:
            known = about(connection, catalog, catalog.allowed(where, min_confidence))
            if len(catalog.abouts) < _ABOUTS:  # clients name filters
                catalog.abouts[where, min_confidence] = known
        return known

    def forget(self) -> None:
        """Free the memory; the next search loads it again."""
        with self._lock:
            self._catalog = None
        self._upkeep.forget()

    def _catalog_of(self, connection: Connection) -> Catalog:
        """From memory if nothing changed, in this process or another, since it was read; else read again."""
        library, generation = store.meta(connection, "library"), feed.generation(connection)
        with self._lock:
            current = self._catalog
            if current is not None and (current.library, current.generation) == (library, generation):
                return current
            read = feed.catalog(connection, current)
            # A reader that began before the last change must not turn the clock back for the others.
            if current is None or current.library != library or current.generation < generation:
                self._catalog = read
            return read


def _groups(query: SearchQuery) -> list[Sequence[str]]:
    """The words to look for: the question's, and those of the line items of accounts that it asks for."""
    groups = [search_terms(query.text)]
    if query.mode == "hybrid" and (items := line_items(query.text)):
        groups.append(search_terms(items))
    return [group for group in groups if group]


def _rank(
    connection: Connection,
    query: SearchQuery,
    vector: Vectors,
    catalog: Catalog,
    candidates: Candidates,
    named: Scores | None,
) -> list[RetrievedChunk]:
    """The best of the candidates that the records still have; `named` says how far the question names each document."""
    rows = feed.rows(connection, candidates, vector)
    places = np.searchsorted(catalog.numbers, rows.documents)
    decay = catalog.decay(query.half_life_days, datetime.now(UTC))[places] if query.half_life_days > 0 else None
    order, score = rank(rows, query.k, mode=query.mode, named=None if named is None else named[places], decay=decay)
    chunks = store.chunks_numbered(connection, rows.numbers[order])
    return [
        RetrievedChunk(
            chunk=catalog.sourced(chunks[int(rows.numbers[row])], int(places[row])),
            rank=place,
            similarity=float(score[row]),
            dense=float(rows.dense[row]),
            bm25=float(rows.lexical[row]) or None,
        )
        for place, row in enumerate(order, start=1)
    ]
