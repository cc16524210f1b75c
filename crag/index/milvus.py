"""A chunk index in Milvus, by its address: Lite in a file, a server, a cluster or a cloud, by the same code."""

from __future__ import annotations

import hashlib
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from crag.core.errors import IndexUnavailableError
from crag.index.chunk_index import Batch, Candidates, Contents, Numbers, Vectors
from crag.index.lexical import stems
from crag.index.milvus_server import Connection, LostError, MissingError, NotLoadedError

log = logging.getLogger(__name__)


LONGEST_TEXT = 65_535
"""Bytes of a text in Milvus."""

_DENSE = {"HNSW": {"M": 16, "efConstruction": 200}, "AUTOINDEX": {}}
"""How vectors are indexed, the first that the server takes: clouds take the second alone."""
_BUILD_SECONDS = 60.0


def prepare(server: Connection, collection: str, dimension: int) -> None:
    """See that the collection fits and is in memory. Raises MissingError, and IndexUnavailableError if it does not."""
    if server.ready:
        return
    _check(server.call("describe_collection", collection), dimension)
    indexed = server.call("list_indexes", collection)
    if "vector" not in indexed:
        _index_vectors(server, collection)
    if "words" not in indexed:
        _index(server, collection, "words", "SPARSE_INVERTED_INDEX", "BM25", {})
    try:
        server.call("load_collection", collection, seconds=_BUILD_SECONDS)
    except IndexUnavailableError as error:
        if isinstance(error, LostError) or not server.lite:
            raise
        _rebuild_index(server, collection)
    server.ready = True


def make(server: Connection, collection: str, dimension: int) -> None:
    """Make the collection where there is none. Two processes may do so at once."""
    server.ready = False
    if not server.call("has_collection", collection):
        try:
            server.call("create_collection", collection, schema=_schema(dimension), consistency_level="Strong")
        except IndexUnavailableError:
            if not server.call("has_collection", collection):
                raise
    prepare(server, collection, dimension)


def _schema(dimension: int) -> Any:
    from pymilvus import DataType, Function, FunctionType, MilvusClient

    schema = MilvusClient.create_schema(auto_id=False, enable_dynamic_field=True)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=128)
    schema.add_field("workspace", DataType.VARCHAR, max_length=128, is_partition_key=True)
    schema.add_field("number", DataType.INT64)
    schema.add_field("document", DataType.INT64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dimension)
    # The words come as stems, and parted by blanks: to fold and stem them is not for the server, since not all can.
    analyzer = {"tokenizer": "standard", "filter": ["lowercase"]}
    schema.add_field("text", DataType.VARCHAR, max_length=LONGEST_TEXT, enable_analyzer=True, analyzer_params=analyzer)
    schema.add_field("words", DataType.SPARSE_FLOAT_VECTOR)
    schema.add_function(
        Function(name="bm25", function_type=FunctionType.BM25, input_field_names=["text"], output_field_names=["words"])
    )
    return schema


def _index_vectors(server: Connection, collection: str) -> None:
    for at, (kind, parameters) in enumerate(_DENSE.items(), start=1):
        try:
            return _index(server, collection, "vector", kind, "COSINE", parameters)
        except IndexUnavailableError:
            if at == len(_DENSE):
                raise


def _rebuild_index(server: Connection, collection: str) -> None:
    """Milvus Lite that is killed while it writes the index of vectors leaves half a file, which it never reads again;
    the vectors themselves are whole. Where another process was first, what it made is loaded."""
    log.warning("Milvus Lite can't read its index of vectors; it is built again from the vectors.")
    try:
        server.call("drop_index", collection, "vector", seconds=_BUILD_SECONDS)
        _index_vectors(server, collection)
    except IndexUnavailableError:
        log.debug("The index was not built again here.", exc_info=True)
    server.call("load_collection", collection, seconds=_BUILD_SECONDS)


def _index(server: Connection, collection: str, field: str, kind: str, metric: str, parameters: dict[str, int]) -> None:
    from pymilvus import MilvusClient

    wanted = MilvusClient.prepare_index_params()
    wanted.add_index(field, index_type=kind, index_name=field, metric_type=metric, params=parameters)
    try:
        server.call("create_index", collection, wanted, seconds=_BUILD_SECONDS)
    except IndexUnavailableError:
        if field not in server.call("list_indexes", collection):  # else another process was first
            raise


def _check(found: dict[str, Any], dimension: int) -> None:
    fields = {each["name"]: each for each in found["fields"]}
    wanted = {each.name: each for each in _schema(dimension).fields}
    sound = (
        all(name in fields and fields[name]["type"] == each.dtype for name, each in wanted.items())
        and fields["vector"]["params"].get("dim") == dimension
        and bool(fields["id"].get("is_primary") and fields["workspace"].get("is_partition_key"))
        and any(each["output_field_names"] == ["words"] for each in found.get("functions", []))
    )
    if not sound:
        raise IndexUnavailableError(
            f"That Milvus has a collection {found['collection_name']} that is not this program's.",
            "Rename it, or use a database of its own: /name at the end of CRAG_MILVUS_URI.",
        )


_LIBRARY = re.compile(r"[0-9a-f]{16,64}")
_MOST_RESULTS = 16_384
"""What Milvus returns at most."""
_MOST_DOCUMENTS = 10_000
"""How many documents one request names; a search among more takes several."""
_MOST_WAITING = 20_000
"""Chunks kept in memory until the commit, some 100 MB. Beyond, they are sent before it."""
_ROWS, _BYTES = 1_000, 8_000_000
"""What one request takes in."""
_PAGE = 8_000
_STRONG: dict[str, Any] = {"consistency_level": "Strong"}
"""What was written before is seen, by whichever process."""


_WRITING_LITE = threading.Lock()
"""Milvus Lite wants writes one after another, whichever library they are of."""


class MilvusIndex:
    """The chunks of one library in Milvus; see `ChunkIndex`. Nothing is asked of the server before it is needed.

    `timeout` is in seconds, for one answer; writing may take three times as long. Where more is added between commits
    than memory should hold, it is written before the commit, and may then be found by a search before it.
    """

    name = "milvus"
    keeps_words = False

    def __init__(
        self,
        uri: str,
        contents: Contents,
        *,
        token: str = "",
        collection: str = "crag_chunks",
        timeout: float = 10.0,
    ) -> None:
        if not _LIBRARY.fullmatch(contents.library):
            raise ValueError("a library's id is made of 16 to 64 hexadecimal digits")
        self._dimension = contents.dimension
        self._collection = f"{collection}_{contents.dimension}"
        made = f"{contents.model}/{contents.words}"
        self._key = f"{contents.library}.{hashlib.sha256(made.encode()).hexdigest()[:16]}"
        self._ours = f'workspace == "{self._key}"'
        self._mark = f"{self._key}.generation"
        self._nowhere = np.eye(1, contents.dimension, dtype=np.float32)[0]
        self._lock = threading.RLock()
        self._added: list[Batch] = []
        self._deleted = set[int]()
        self._seen = -1
        """The generation that was last read or written here."""
        self._timeout = timeout
        self._server = Connection(uri, token, timeout)

    @property
    def generation(self) -> int:
        rows = self._read("get", ids=[self._mark], output_fields=["number"])
        self._seen = int(rows[0]["number"]) if rows else -1
        return self._seen

    @property
    def size(self) -> int:
        rows = self._read("query", filter=self._ours, output_fields=["count(*)"])
        return int(rows[0]["count(*)"]) if rows else 0

    def numbers(self) -> Numbers:
        def pages() -> Iterator[int]:
            rows = self._read("query_iterator", filter=self._ours, output_fields=["number"], batch_size=_PAGE)
            while rows is not None and (page := self._server.run(rows.next)):
                yield from (row["number"] for row in page)

        return np.sort(np.fromiter(pages(), np.int64))

    def add(self, batches: Sequence[Batch]) -> None:
        with self._lock:
            self._added += batches
            if sum(len(batch.numbers) for batch in self._added) > _MOST_WAITING:
                self._send()

    def delete(self, documents: Sequence[int]) -> None:
        gone = set(map(int, documents))
        with self._lock:
            self._added = [batch for batch in self._added if batch.document not in gone]
            self._deleted |= gone

    def commit(self, generation: int) -> None:
        with self._lock:
            self._send()
            self._write("upsert", data=[self._row(self._mark, self._mark, generation, -1, self._nowhere)])
            self._seen = generation
            self._flush()

    def clear(self) -> None:
        with self._lock:
            self._added, self._deleted, self._seen = [], set(), -1
            if self._read("get", ids=[self._mark]) is not None:
                # The generation goes first: what is left, if the rest fails, is not believed.
                self._write("delete", ids=[self._mark])
                self._write("delete", filter=self._ours, **_STRONG)
                self._flush()

    def top(
        self, vector: Vectors, words: Sequence[Sequence[str]], k: int, documents: Numbers | None = None
    ) -> Candidates:
        texts = [text for group in words if (text := _cut(stems(" ".join(group))))]
        if documents is None:
            return self._search(vector, texts, k, self._ours)
        parts = [documents[at : at + _MOST_DOCUMENTS] for at in range(0, len(documents), _MOST_DOCUMENTS)]
        found = [self._search(vector, texts, k, f"{self._ours} and {_among(part)}") for part in parts]
        if len(found) < 2:
            return found[0] if found else Candidates.none()
        return Candidates(
            np.concatenate([each.numbers for each in found]),
            np.concatenate([each.dense for each in found]),
            np.concatenate([each.lexical for each in found]),
        )

    def close(self) -> None:
        with self._lock:
            self._added, self._deleted = [], set()
        self._server.close()

    # Searching

    def _search(self, vector: Vectors, texts: Sequence[str], k: int, where: str) -> Candidates:
        """One request. Its ranker adds up the scores by words as they are, and leaves out those by meaning: the sum of
        both could not be taken apart. So cosines are unknown; the ranking has the vectors themselves."""
        try:
            prepare(self._server, self._collection, self._dimension)
        except MissingError:
            return Candidates.none()
        from pymilvus import AnnSearchRequest, WeightedRanker

        each = min(k, _MOST_RESULTS // (len(texts) + 1))
        nearest = {"metric_type": "COSINE", "params": {"ef": max(2 * each, 64)}}
        requests = [AnnSearchRequest([vector.astype(np.float32).tolist()], "vector", nearest, each, expr=where)]
        requests += [AnnSearchRequest([text], "words", {"metric_type": "BM25"}, each, expr=where) for text in texts]
        ranker = WeightedRanker(0.0, *[1.0] * len(texts), norm_score=False)
        most = each * len(requests)
        # Without a field named, Milvus Lite reads all of them: three times as slow.
        found = self._read("hybrid_search", reqs=requests, ranker=ranker, limit=most, output_fields=["id"])
        hits = found[0] if found else []
        return Candidates(
            np.array([int(hit["id"].rpartition(".")[2]) for hit in hits], dtype=np.int64),
            np.full(len(hits), np.nan, dtype=np.float32),
            np.maximum(np.array([hit["distance"] for hit in hits], dtype=np.float32), 0),
        )

    # Reading and writing

    def _read(self, method: str, **named: Any) -> Any:
        """What Milvus says, as of now; None where it has no such collection."""
        try:
            return self._call(method, **named, **_STRONG)
        except MissingError:
            return None

    def _write(self, method: str, **named: Any) -> None:
        with _WRITING_LITE if self._server.lite else nullcontext():
            try:
                self._call(method, seconds=3 * self._timeout, **named)
            except MissingError as error:
                raise _lost_error() from error

    def _call(self, method: str, **named: Any) -> Any:
        try:
            prepare(self._server, self._collection, self._dimension)
            return self._server.call(method, self._collection, **named)
        except NotLoadedError:
            self._server.ready = False
            prepare(self._server, self._collection, self._dimension)
            return self._server.call(method, self._collection, **named)
        except MissingError:
            self._server.ready = False
            raise

    def _send(self) -> None:
        """Deletions first: a document that was deleted and added again is there afterwards."""
        self._begin()
        gone = np.array(sorted(self._deleted), dtype=np.int64)
        for at in range(0, len(gone), _MOST_DOCUMENTS):
            where = f"{self._ours} and {_among(gone[at : at + _MOST_DOCUMENTS])}"
            self._write("delete", filter=where, **_STRONG)
        for rows in _requests(row for batch in self._added for row in self._rows(batch)):
            self._write("upsert", data=rows)
        self._added, self._deleted = [], set()

    def _begin(self) -> None:
        """See that Milvus still holds what it did: else a commit would say of half a library that it is whole."""
        before = self._seen
        if self.generation < before:
            self._added, self._deleted = [], set()
            raise _lost_error()
        if self._seen < 0:
            make(self._server, self._collection, self._dimension)

    def _flush(self) -> None:
        """Milvus Lite searches what was not flushed row by row; a server does as it sees fit, and limits flushes."""
        if self._server.lite:
            self._write("flush")

    def _rows(self, batch: Batch) -> Iterator[dict[str, Any]]:
        for number, vector, context, text in zip(
            batch.numbers.tolist(), batch.vectors, batch.contexts, batch.texts, strict=True
        ):
            above = stems(context)
            words = _cut([*above, *above, *stems(text)])
            near = vector if vector.any() else self._nowhere  # a vector of zeros has no cosine
            yield self._row(f"{self._key}.{number}", self._key, number, batch.document, near, words)

    def _row(
        self, id: str, workspace: str, number: int, document: int, vector: Vectors, text: str = ""
    ) -> dict[str, Any]:
        return {
            **{"id": id, "workspace": workspace, "number": number, "document": document},
            **{"vector": np.asarray(vector, dtype=np.float32), "text": text},
        }


def _lost_error() -> IndexUnavailableError:
    return IndexUnavailableError(
        "Milvus no longer holds what it did.", "Fill it again from the records; everything stored is intact."
    )


def _among(documents: Numbers) -> str:
    return f"document in [{','.join(map(str, documents.astype(np.int64).tolist()))}]"


def _cut(words: Sequence[str]) -> str:
    """The words as one text, as many as Milvus takes."""
    text = " ".join(words)
    if len(text.encode()) <= LONGEST_TEXT:
        return text
    return text.encode()[:LONGEST_TEXT].decode(errors="ignore")


def _requests(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The rows, as many at a time as one request takes."""
    waiting: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        weight = row["vector"].nbytes + 4 * len(row["text"]) + 500
        if waiting and (len(waiting) >= _ROWS or size + weight > _BYTES):
            yield waiting
            waiting, size = [], 0
        waiting.append(row)
        size += weight
    if waiting:
        yield waiting
