"""Sentences are composed last, in `crag/messages`, from facts. No code takes one apart or finds words in it.

What else has sentences: errors, with their cause and remedy where they are raised; settings, providers and metrics,
each declared with its help; the edges, which speak their protocol; and what is said to models.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

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


EDGES = {"messages", "cli", "integrations", "testing"}
"""Packages that may compose sentences."""
TO_MODELS = {
    *("evaluation/llm.py", "evaluation/selection.py", "generation/llm.py", "generation/conversation/model.py"),
    *("providers/chat.py", "providers/discovery.py", "retrieval/rewriting.py", "text/injection.py"),
    "analysis/breaking.py",
}
"""Modules with prompts, and with an order that a page gives to a model."""
DECLARED = {"analysis/monitoring/metrics.py", "runtime/origins.py"}
"""Modules that declare metrics, and refusals of the servers, each with its text."""
OWED = {"ingest/reader.py": 8, "ingest/scans.py": 5, "admin/quantities.py": 1}
"""How many sentences a module may still compose. To be lowered, never raised."""
ERRORS = (
    *("Answer", "Error", "Failed", "Problem", "Unread", "fail", "note", "noted"),
    *("debug", "exception", "info", "setting", "warning"),
)
"""How the names of calls end that take a sentence: of what went wrong, of an abstention, a log, or a setting."""
KEYWORDS = {"about", "description", "error", "help", "message", "problem", "reason", "remedy", "why"}
"""Arguments that are such a sentence."""
WORD = re.compile(r"[A-Za-z’']{2,}")
CODE = re.compile(r"\\|\(\?|\b(?:SELECT|FROM|UPDATE|INTO|CREATE|DROP)\b")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def named(node: ast.expr | None) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def is_sentence(node: ast.AST) -> bool:
    """Whether a string reads as a sentence: four words, a capital and an end, or a part of it with a value."""
    match node:
        case ast.Constant(value=str(text)):
            whole = text.strip()
        case ast.JoinedStr(values=values):
            whole = "".join(each.value if isinstance(each, ast.Constant) else "{}" for each in values).strip()
        case _:
            return False
    if len(WORD.findall(whole.replace("{}", " "))) < 4 or CODE.search(whole):
        return False
    ended = whole.endswith((".", "!", "?", "…"))
    if isinstance(node, ast.JoinedStr):
        return ended or bool(re.search("[,;:] ", whole))
    return ended and bool(re.match("[A-Z“]", whole))


def defined_in(nodes: Iterable[ast.AST]) -> dict[str, list[ast.AST]]:
    """What each name is set to or defined as."""
    found: dict[str, list[ast.AST]] = {}
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.setdefault(name, []).append(node)
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                targets = [target]
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                targets = [target]
            case _:
                continue
        if not isinstance(node, Function) and value is not None:
            for each in (each for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)):
                found.setdefault(each.id, []).append(value)
    return found


def errors_of(tree: ast.Module) -> Iterator[ast.AST]:
    """The parts of a module that say what went wrong, what to do, or what something is declared to be."""
    for node in ast.walk(tree):
        match node:
            case ast.Raise() | ast.Assert():
                yield node
            case ast.Call(func=function) if named(function).endswith(ERRORS):
                yield node
            case ast.ClassDef(bases=bases) if any(named(each).endswith("Error") for each in bases):
                yield node
            case ast.keyword(arg=name, value=value) if name in KEYWORDS:
                yield value
            case ast.Expr(value=ast.Constant()):
                yield node


def composed(tree: ast.Module) -> Iterator[int]:
    """The lines of sentences that go to no error: what an error names, a constant or a function, goes to it."""
    owner: dict[int, ast.AST] = {}
    functions = [node for node in ast.walk(tree) if isinstance(node, Function)]
    for function in functions:
        owner.update((id(node), function) for node in ast.walk(function))
    local = {id(function): defined_in(ast.walk(function)) for function in functions}
    whole = defined_in(node for node in ast.walk(tree) if id(node) not in owner or isinstance(node, Function))
    free: set[int] = {id(each) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for each in node.values}
    left = list(errors_of(tree))
    while left:
        for node in ast.walk(left.pop()):
            if id(node) not in free and (free.add(id(node)) or isinstance(node, ast.Name | ast.Attribute)):
                here = owner.get(id(node))
                left += [*local.get(id(here), {}).get(named(node), []), *whole.get(named(node), [])]
    yield from (node.lineno for node in ast.walk(tree) if id(node) not in free and is_sentence(node))


def test_the_engine_yields_facts() -> None:
    found = {}
    for path in sorted((ROOT / "crag").rglob("*.py")):
        name = path.relative_to(ROOT / "crag").as_posix()
        drawn = name.startswith("export/html/")  # what is drawn has labels and hints beside the sentences of messages
        if not drawn and name.split("/")[0] not in EDGES and name not in TO_MODELS | DECLARED:
            lines = list(composed(tree_of(path)))
            if len(lines) > OWED.get(name, 0):
                found[name] = lines
    assert found == {}, "compose these in crag/messages, from a reason and numbers"


@pytest.mark.parametrize(
    "code",
    [
        'def say(n):\n    return f"The run searched {n} web pages."',
        '_SAID = {"a": "Nothing was found in your documents."}',
        'def say(n, m):\n    return f"{n} of {m} runs failed, more than before"',
        'def say(n):\n    text = f"Worth {n} a question, it is set now."\n    return text',
    ],
)
def test_a_composed_sentence_is_found(code: str) -> None:
    assert list(composed(ast.parse(code)))


@pytest.mark.parametrize(
    "code",
    [
        'raise InputError(f"The file {name} has no text in it.", "Choose another file of yours.")',
        '_REMEDY = "Choose another file of yours."\ndef fail():\n    raise InputError("No.", _REMEDY)',
        'def f(n):\n    said = f"The file {n} has no text."\n    return DocumentFailed(message=said)',
        'X = setting(1, "Runs", help="How many runs may wait here.")',
        'def f():\n    """Return what a run made of it."""',
        'QUERY = f"SELECT name FROM runs WHERE place = {n}, {m}"',
    ],
)
def test_errors_and_declarations_are_let_be(code: str) -> None:
    assert not list(composed(ast.parse(code)))
