"""No file of the product imports another that imports it, over whatever way."""

import ast
from collections.abc import Iterator

from tests.support.product import ROOT, modules, tree_of


def find_circles(imports: dict[str, set[str]]) -> set[str]:
    """The modules in circles, and those between two circles: what is left when files at either end are taken away."""
    left = set(imports)
    while ends := {each for each in left if not imports[each] & left} | left.difference(
        *(imports[one] for one in left)
    ):
        left -= ends
    return left


def imports_of(tree: ast.Module) -> Iterator[str]:
    """What is imported when a file is loaded, or for types alone; `from a import b` counts as a.b and as a."""
    for block in (tree, *(node for node in tree.body if isinstance(node, ast.If | ast.Try))):
        for node in block.body:
            if isinstance(node, ast.Import):
                yield from (each.name for each in node.names)
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{each.name}" for each in node.names]
                yield from (str(node.module), *names)


def test_there_is_no_circle_between_files() -> None:
    files = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): tree_of(path)
        for path in modules()
    }
    imports = {name: {each for each in imports_of(tree) if each in files} - {name} for name, tree in files.items()}
    assert find_circles(imports) == set()


def test_a_circle_is_found_and_what_leads_into_it_is_not() -> None:
    imports = {"a": {"b"}, "b": {"c"}, "c": {"d", "b"}, "d": set[str]()}
    assert find_circles(imports) == {"b", "c"}
    tree = ast.parse("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ui.app import program")
    assert "ui.app.program" in imports_of(tree)
