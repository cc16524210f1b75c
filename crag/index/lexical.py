"""BM25 over the chunks' words, by tantivy, in a folder of its own. Their texts are not kept in it."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import tantivy
from tantivy import Filter, Occur, Query, TextAnalyzer, TextAnalyzerBuilder, Tokenizer

from crag.index.chunk_index import Batch, Numbers, Scores
from crag.index.stamp import IndexCorruptError
from crag.text.words import separate_words

_LONGEST = 200
"""Bytes of the longest word that is kept: no person writes a longer one, and base64 is no word."""


def stems(text: str) -> list[str]:
    """The stems of a text's words, in order. Any text can be given: halves of pairs and NULs part words."""
    return analyzer().analyze(plain(text))


def plain(text: str) -> str:
    """The text with its words apart, and no character that can't be written as UTF-8."""
    return text if text.isascii() else separate_words(text).encode("utf-8", "replace").decode()


@cache
def analyzer() -> TextAnalyzer:
    """What parts a plain text into stems."""
    builder = TextAnalyzerBuilder(Tokenizer.regex(r"[^\W_]+"))
    # Each stemmer changes words of its own script alone.
    stemmers = (Filter.stemmer(language) for language in ("english", "russian", "arabic", "greek"))
    for each in (Filter.remove_long(_LONGEST), Filter.lowercase(), Filter.ascii_fold(), *stemmers):
        builder = builder.filter(each)
    return builder.build()


_HEAP = 50_000_000
"""Bytes of memory that a writer collects words in."""
_ANALYZER = "chunks"
_END = struct.Struct("<II")
_MAGIC = 1337
_WORDS, _NUMBER, _DOCUMENT = "words", "number", "document"

Hits = tuple[Numbers, Scores]


@dataclass(frozen=True, eq=False)
class Searcher:
    """The words as they were at one commit."""

    searcher: tantivy.Searcher

    def numbers(self, documents: Numbers, most: int) -> Numbers:
        """At most this number of the chunks of these documents whose words are there."""
        hits = self.searcher.search(only(documents), max(most, 1), count=False).hits
        return np.array(self.searcher.fast_field_values(_NUMBER, [address for _, address in hits]), np.int64)

    def best(self, words: Sequence[str], k: int, only: Query | None) -> Hits:
        """The `k` best chunks by any of the words, and their BM25; `only` restricts them without changing scores."""
        terms = dict.fromkeys(term for word in words for term in stems(word))
        if not terms:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        any_of = Query.boolean_query(
            [(Occur.Should, Query.term_query(_schema(), _WORDS, term, "freq")) for term in terms]
        )
        query = any_of if only is None else Query.boolean_query([(Occur.Must, any_of), (Occur.Must, only)])
        # Counting all matches would rank all of them: without it, what can't be among the best is passed over.
        hits = self.searcher.search(query, k, count=False).hits
        numbers = self.searcher.fast_field_values(_NUMBER, [address for _, address in hits])
        return np.array(numbers, np.int64), np.array([score for score, _ in hits], np.float32)


def only(documents: Numbers) -> Query:
    """What restricts a search to these documents. To be made once for many searches: it is as long as they are many."""
    return Query.const_score_query(Query.term_set_query(_schema(), _DOCUMENT, documents.tolist()), 0.0)


class Lexical:
    """The words in one folder. One process at a time may write; any may read."""

    def __init__(self, index: tantivy.Index) -> None:
        self._index = index
        self._index.register_tokenizer(_ANALYZER, analyzer())
        self._index.config_reader("manual", 0)

    @classmethod
    def make(cls, folder: Path) -> Lexical:
        """An empty one. Raises OSError."""
        folder.mkdir(parents=True)
        return cls(tantivy.Index(_schema(), str(folder)))

    @classmethod
    def open(cls, folder: Path) -> Lexical:
        """What stands in a folder. Raises ValueError where it can't be read."""
        return cls(tantivy.Index(_schema(), str(folder), reuse=True))

    def searcher(self) -> Searcher:
        """The words as they are on the disk now."""
        self._index.reload()
        return Searcher(self._index.searcher())

    def writer(self) -> tantivy.IndexWriter:
        return self._index.writer(_HEAP, 1)

    def change(self, documents: Numbers, batches: Sequence[Batch]) -> tantivy.IndexWriter | None:
        """Delete these documents, add the chunks that are not there, and commit.

        The writer may still be merging then; None where there was nothing to do.
        """
        searcher = self.searcher()
        chunks = {
            number: (batch.document, context, text)
            for batch in batches
            for number, context, text in zip(batch.numbers.tolist(), batch.contexts, batch.texts, strict=True)
        }
        given = np.setdiff1d(np.array([batch.document for batch in batches], np.int64), documents)
        gone = len(searcher.numbers(documents, 1)) > 0
        there = set(searcher.numbers(given, len(chunks)).tolist())
        missing = {number: chunk for number, chunk in chunks.items() if number not in there}
        if not gone and not missing:
            return None
        writer = self.writer()
        try:
            if gone:
                # By a query: deleting by a term finds nothing in an unsigned field, and says nothing.
                writer.delete_documents_by_query(only(documents))
            for number, (document, context, text) in missing.items():
                add(writer, number, document, context, text)
            writer.commit()
        except BaseException:
            with suppress(ValueError):
                writer.rollback()
            with suppress(ValueError):
                writer.wait_merging_threads()  # It lets go of its lock, also while this error keeps the writer.
            raise
        return writer


def add(writer: tantivy.IndexWriter, number: int, document: int, context: str, text: str) -> None:
    """Add the words of a chunk. What stands over it is written twice, so that a word there counts as two."""
    over = plain(context)
    entry = tantivy.Document()
    entry.add_text(_WORDS, f"{over}\n{over}\n{plain(text)}")
    entry.add_unsigned(_NUMBER, number)
    entry.add_unsigned(_DOCUMENT, document)
    writer.add_document(entry)


def verify(folder: Path) -> None:
    """Raises IndexCorruptError where a file is damaged.

    Each of tantivy's files ends with the CRC-32 of what stands before: it is not checked by tantivy when it is read.
    """
    try:
        segments = {
            each["segment_id"].replace("-", "") for each in json.loads((folder / "meta.json").read_bytes())["segments"]
        }
        whole = all(_whole(path) for path in folder.iterdir() if path.name.partition(".")[0] in segments)
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise IndexCorruptError("the words can't be read") from error
    if not whole:
        raise IndexCorruptError("a file of the words is damaged")


def _whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-_END.size, 2)
        length, magic = _END.unpack(file.read())
        body = file.tell() - _END.size - length
        if magic != _MAGIC or body < 0:
            return False
        file.seek(body)
        wanted = json.loads(file.read(length))["crc"]
        file.seek(0)
        found = 0
        while body:
            piece = file.read(min(body, 1 << 20))
            found = zlib.crc32(piece, found)
            body -= len(piece)
    return found == int(wanted)


@cache
def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_WORDS, tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_unsigned_field(_NUMBER, indexed=True, fast=True)
    builder.add_unsigned_field(_DOCUMENT, indexed=True)
    return builder.build()
