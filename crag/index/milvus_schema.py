"""What the collection looks like in which Milvus holds the chunks of all workspaces, and whether one found fits."""

from __future__ import annotations

import logging
from typing import Any

from crag.core.errors import IndexUnavailableError
from crag.index.milvus_server import LostError, Server

log = logging.getLogger(__name__)

__all__ = ["LONGEST_TEXT", "make", "prepare"]

LONGEST_TEXT = 65_535
"""Bytes of a text in Milvus."""

_DENSE = {"HNSW": {"M": 16, "efConstruction": 200}, "AUTOINDEX": {}}
"""How vectors are indexed, the first that the server takes: clouds take the second alone."""
_BUILD_SECONDS = 60.0


def prepare(server: Server, collection: str, dimension: int) -> None:
    """See that the collection fits and is in memory. Raises MissingError, and IndexUnavailableError if it does not."""
    if collection in server.ready:
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
        _index_anew(server, collection)
    server.ready.add(collection)


def make(server: Server, collection: str, dimension: int) -> None:
    """Make the collection where there is none. Two processes may do so at once."""
    server.ready.discard(collection)
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


def _index_vectors(server: Server, collection: str) -> None:
    for at, (kind, parameters) in enumerate(_DENSE.items(), start=1):
        try:
            return _index(server, collection, "vector", kind, "COSINE", parameters)
        except IndexUnavailableError:
            if at == len(_DENSE):
                raise


def _index_anew(server: Server, collection: str) -> None:
    """Milvus Lite that is killed while it writes the index of vectors leaves half a file, which it never reads again;
    the vectors themselves are whole. Where another process was first, what it made is loaded."""
    log.warning("Milvus Lite can't read its index of vectors; it is built again from the vectors.")
    try:
        server.call("drop_index", collection, "vector", seconds=_BUILD_SECONDS)
        _index_vectors(server, collection)
    except IndexUnavailableError:
        log.debug("The index was not built again here.", exc_info=True)
    server.call("load_collection", collection, seconds=_BUILD_SECONDS)


def _index(server: Server, collection: str, field: str, kind: str, metric: str, parameters: dict[str, int]) -> None:
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
