"""The house: HTML is made of elements, which escape, and never of strings, which do not."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.product import nodes_of, tree_of

ROOT = Path(__file__).resolve().parents[2]

TAG = re.compile(r"</?[a-zA-Z!]")

# What looks like a tag and is none of a page: the figures' own markup, and patterns.
NO_HTML = re.compile(r"<extra></extra>|\(\?|\(\.\*\?\)")

# Where a string that is not written out there becomes HTML, and what it is.
MADE = {
    "crag/export/html/elements.py": "elements, style sheets and scripts",
    "ui/components/drawing.py": "the style sheet",
    "crag/export/html/pages.py": "the script of the replay, and JSON without a <",
}


def drawing() -> Iterator[tuple[str, ast.Module]]:
    """Every file that may draw, with its code."""
    folders = ROOT / "crag" / "export" / "html", ROOT / "ui", ROOT / "pages"
    for path in (*(path for folder in folders for path in sorted(folder.rglob("*.py"))), ROOT / "app.py"):
        yield str(path.relative_to(ROOT)), tree_of(path)


def strings(tree: ast.Module) -> Iterator[ast.Constant | ast.JoinedStr]:
    """The strings of a file but for docstrings, and for constants in `Html("…")`."""
    silent = {id(node.value) for node in nodes_of(tree) if isinstance(node, ast.Expr)}
    silent |= {id(call.args[0]) for call in made(tree) if isinstance(call.args[0], ast.Constant)}
    silent |= {id(part) for node in nodes_of(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes_of(tree):
        if isinstance(node, ast.JoinedStr | ast.Constant) and id(node) not in silent:
            yield node


def made(tree: ast.Module) -> Iterator[ast.Call]:
    """Every `Html(…)` with something in it."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func) in ("Html", "h.Html", "Markup", "cls"):
            yield node


def said(node: ast.Constant | ast.JoinedStr) -> str:
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    return "".join(part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str))


def test_no_string_is_html() -> None:
    wrong = [
        f"{path}:{node.lineno} {said(node)[:60]!r}"
        for path, tree in drawing()
        for node in strings(tree)
        if TAG.search(said(node)) and not NO_HTML.search(said(node)) and path != "crag/export/html/elements.py"
    ]
    assert not wrong, "make elements of these (crag/export/html/elements.py): only they escape what they hold"


def test_only_constants_are_declared_html() -> None:
    wrong = [
        f"{path}:{call.lineno}"
        for path, tree in drawing()
        for call in made(tree)
        if path not in MADE and not isinstance(call.args[0], ast.Constant)
    ]
    assert not wrong


def test_html_reaches_a_page_by_one_way() -> None:
    wrong = [
        f"{path}:{node.lineno}"
        for path, tree in drawing()
        for node in nodes_of(tree)
        if (isinstance(node, ast.Attribute) and node.attr == "html" and path != "ui/components/drawing.py")
        or (isinstance(node, ast.keyword) and node.arg == "unsafe_allow_html")
    ]
    assert not wrong, "draw it (ui/components/drawing.py)"


def test_a_string_that_is_html_is_found() -> None:
    """The checks themselves: what they are there for does not get past them."""
    tree = ast.parse('"""<b>"""\nx = f"<b>{y}</b>"\nz = "<i>" + y\nw = Html("<u>")\nv = Html(f"<s>{y}")\nu = "<1 ms"')
    assert [said(node) for node in strings(tree) if TAG.search(said(node))] == ["<b></b>", "<i>", "<s>"]
    assert [call.lineno for call in made(tree) if not isinstance(call.args[0], ast.Constant)] == [5]
