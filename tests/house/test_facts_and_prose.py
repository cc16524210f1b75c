"""Sentences are composed last, in `crag/messages`, from facts. No code takes one apart or finds words in it."""

import ast
from collections.abc import Iterator

import pytest

from tests.support.product import ROOT, modules, nodes_of, tree_of

PROSE = {
    *("cause", "claim", "detail", "error", "instead", "message", "note", "problem", "reason", "remedy", "said"),
    *("sentence", "why"),
}
"""Attributes that hold what a person is told."""
APART = {
    *("endswith", "find", "index", "partition", "removeprefix", "removesuffix", "replace", "rpartition", "rsplit"),
    *("split", "splitlines", "startswith"),
}
MATCHING = {"findall", "finditer", "fullmatch", "match", "search", "split", "sub"}


def prose(node: ast.expr) -> bool:
    """Whether an expression is what a person is told: an attribute of that name, a sentence that was just made."""
    match node:
        case ast.Attribute(attr=name):
            return name in PROSE
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
            return name.endswith("_sentence") or (name in ("about", "str") and any(map(prose, node.args)))
        case ast.JoinedStr(values=values):
            return any(isinstance(each, ast.FormattedValue) and prose(each.value) for each in values)
        case ast.BoolOp(values=values):
            return any(map(prose, values))
        case ast.Subscript(value=value):
            return prose(value)
        case _:
            return False


def taken_apart(tree: ast.Module) -> Iterator[int]:
    """The lines where that happens."""
    for node in nodes_of(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr=name, value=value), args=args):
                apart = name in APART and prose(value) and (args or name != "split")  # split() alone tidies spaces
                if apart or (name in MATCHING and any(map(prose, args))):
                    yield node.lineno
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[right], left=ast.Constant()) if prose(right):
                yield node.lineno
            case ast.Subscript(value=value, slice=ast.Slice()) if prose(value):
                yield node.lineno


def test_no_sentence_is_taken_apart() -> None:
    found = {f"{path.relative_to(ROOT)}:{line}" for path in modules() for line in taken_apart(tree_of(path))}
    assert found == set()


@pytest.mark.parametrize(
    "line",
    [
        'failure.message.startswith("The query")',
        'failure.message.removesuffix(failure.instead)',
        'outcome_sentence(trace).removeprefix("CORRECT:")',
        'what.sentence.partition(": ")[2] or what.sentence',
        'each.detail.replace(folder, "here")',
        '"not approved" in failure.cause',
        'grade.why[3:]',
        're.sub("openai:", "", call.error)',
        'str(error.message).split(": ")',
    ],
)  # fmt: skip
def test_the_commonest_ways_to_do_so_are_found(line: str) -> None:
    assert list(taken_apart(ast.parse(line)))


@pytest.mark.parametrize(
    "line", ['grade.reason == ""', "failure.reason in known", 'name.startswith("a")', "f'{x.why}.'"]
)
def test_what_takes_nothing_apart_is_let_be(line: str) -> None:
    assert not list(taken_apart(ast.parse(line)))
