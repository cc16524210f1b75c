"""The product's code as the house's tests read it: parsed and walked through once in a process."""

import ast
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@cache
def modules() -> tuple[Path, ...]:
    """Every Python file of the product."""
    found = [path for folder in ("crag", "ui", "pages") for path in sorted((ROOT / folder).rglob("*.py"))]
    return (*found, ROOT / "app.py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a tree, as `ast.walk` finds them."""
    return tuple(ast.walk(tree))
