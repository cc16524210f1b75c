"""The house: nothing stands in the product that nothing of it reads, and no style that nothing is drawn with."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.house.test_names import PUBLIC
from tests.support.product import modules, nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]

CALLED_BY_OTHERS = {
    **dict.fromkeys(("abefore_model", "awrap_model_call", "before_model", "wrap_model_call"), "LangChain calls it"),
    "bind_processor": "SQLAlchemy calls it",
    "cache_ok": "SQLAlchemy reads it",
    "connect_unix_socket": "httpcore may call it",
    **dict.fromkeys(("_get_relevant_documents", "_aget_relevant_documents"), "LangChain calls it"),
    **dict.fromkeys(("compress_documents", "acompress_documents"), "LangChain calls it"),
    **dict.fromkeys(("embed_documents", "embed_query"), "LangChain calls it"),
    "impl": "SQLAlchemy reads it",
    "load_dialect_impl": "SQLAlchemy calls it",
    "model_config": "pydantic reads it",
    "result_processor": "SQLAlchemy calls it",
    "result_type": "ddgs reads it",
    "settings_customise_sources": "pydantic-settings calls it",
    "state_schema": "LangChain reads it",
}
"""Names that another package reads."""


READ_BY_PATTERN = {"QuotaSettings": "crag.admin.quotas reads each by its scope and kind"}
"""Classes whose fields are read by names that are put together."""


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: tree_of(path) for path in modules()}


@cache
def listed_whole() -> frozenset[str]:
    """Classes whose fields are read whole: by `fields(Class)` or `get_type_hints(Class)`, or written out as JSON."""
    calls = [node for tree in trees().values() for node in nodes_of(tree) if isinstance(node, ast.Call) and node.args]
    readers = {"fields", "get_type_hints"}
    return (
        frozenset(getattr(call.args[0], "id", "") for call in calls if getattr(call.func, "id", "") in readers)
        | written_out()
        | READ_BY_PATTERN.keys()
    )


def written_out() -> frozenset[str]:
    """The pydantic models of exports and integrations: records, requests and replies."""
    places = (ROOT / "crag" / "export", ROOT / "crag" / "integrations")
    bases = {
        node.name: {getattr(base, "id", "") for base in node.bases}
        for path, tree in trees().items()
        if any(path.is_relative_to(place) for place in places)
        for node in nodes_of(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"BaseModel"}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return frozenset(found)


def called_by_decorator(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether pydantic calls it as a validator, or FastAPI as an endpoint."""
    said = [ast.unparse(each) for each in node.decorator_list]
    return any("_validator" in each or re.match(r"\w+\.(get|post|delete)\(", each) for each in said)


def defined(tree: ast.Module) -> Iterator[str]:
    """Functions, classes, methods, fields and constants."""
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not called_by_decorator(node):
            yield node.name
        if isinstance(node, ast.ClassDef | ast.Module) and getattr(node, "name", "") not in listed_whole():
            for line in node.body:
                targets = line.targets if isinstance(line, ast.Assign) else [getattr(line, "target", None)]
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def is_list(line: ast.stmt) -> bool:
    """Whether it is a module's `__all__`."""
    return isinstance(line, ast.Assign) and {getattr(each, "id", "") for each in line.targets} == {"__all__"}


def read(tree: ast.Module) -> Iterator[str]:
    """Names and attributes that are looked up, and the words of texts: a field may be read by its name.

    To be listed in `__all__` is not to be read.
    """
    listed = {id(node) for line in tree.body if is_list(line) for node in ast.walk(line)}
    for node in nodes_of(tree):
        if id(node) in listed:
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value.strip():
            yield from re.findall(r"\w+", node.value)


@pytest.mark.slow
def test_nothing_is_defined_that_nothing_reads() -> None:
    """A test alone is no reader; what other programs may use is pinned in `test_names`, or a fake or contract."""
    known = Counter(name for tree in trees().values() for name in read(tree))
    dead = [
        f"{path.relative_to(ROOT)}: {name}"
        for path, tree in trees().items()
        if path.parent != ROOT / "crag" / "testing"
        for name in defined(tree)
        if not (known[name] or name in PUBLIC or name in CALLED_BY_OTHERS or re.fullmatch(r"__\w+__", name))
    ]
    assert dead == []


def test_every_style_is_drawn_with() -> None:
    styles = (ROOT / "crag" / "export" / "html" / "static" / "style.css").read_text(encoding="utf-8")
    selectors = re.sub(r"\{[^{}]*\}", " ", re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL))
    code = [*trees(), *(path for folder in ("ui", "crag") for path in (ROOT / folder).rglob("*.js"))]
    words = {word for path in code for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}
    ours = {name.removeprefix("st-key-") for name in re.findall(r"\.([A-Za-z_][\w-]*)", selectors)}
    numbered = re.compile(r"s\d|st[A-Z]\w+")  # the classes of an opacity, and Streamlit's own
    assert {name for name in ours - words if not numbered.fullmatch(name)} == set()
