"""Every regular expression of the product, and how long each takes on long strings made from its own structure.

Run as a module it is the child process of `tests/text/test_regular_expressions.py`: a pattern that does not end ends
this process by its limit of processor time, and not the tests.
"""

import ast
import importlib
import json
import re
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from re import _compiler as compiler  # type: ignore[attr-defined]
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from tests.support.product import ROOT, modules, nodes_of, tree_of

FUNCTIONS = {"compile", "search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
ANCHORED = {"match", "fullmatch"}
SIGNS = ("a", "Z", "1", " ", "\n", "_", ".", "-", '"', "я", "\u0301", "一", "!")
"""Signs of each kind, which stand in for a class of them."""
MANY, ATTACKS = 8, 2_000
"""Repetitions from which on a text may be made of them, and about how many of the texts for one pattern are tried."""
LENGTHS = 24, 32, 42, 56, 75, 100, 400, 4000
"""Short ones first: over the last, a pattern that grows by the power of three or faster would not end."""
QUICK = 0.004
"""Seconds of processor below which a text of the greatest length was looked at in one pass."""
MOST = 0.02
"""Seconds that no text of a short length may take."""
GROWTH = {2: 3.0, 4: 9.0}
"""How much longer a text of two and four times the length may take: 2 and 4 in proportion, 4 and 16 by the square."""
AGAIN = 3
"""So often a pattern that seems slow is timed once more; the shortest times count."""
SECONDS = 600


@dataclass(frozen=True, slots=True)
class Call:
    """A pattern where it stands: the module, the line, its source, and the names of functions that use it."""

    path: Path
    line: int
    source: str
    flags: str
    used: frozenset[str]
    name: str = ""

    @property
    def named(self) -> str:
        """The module, and the name that the pattern is given there."""
        return f"{self.path.relative_to(ROOT).as_posix()}: {self.name}"

    @property
    def key(self) -> str:
        """What a list of patterns calls it: lines move."""
        return f"{self.path.relative_to(ROOT).as_posix()}: {self.source}"


@cache
def calls() -> list[Call]:
    """Every call of `re` in the product that is given a pattern, inline or not."""
    return [call for path in modules() for call in _calls_in(path)]


def foreign() -> list[str]:
    """What would hide a pattern from `calls`: names taken out of `re`, or another library of patterns."""
    found = []
    for path in modules():
        for node in nodes_of(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module in ("re", "regex"):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: from {node.module} import …")
            if isinstance(node, ast.Import) and any(
                a.name == "regex" or (a.name == "re" and a.asname) for a in node.names
            ):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}: import … as …")
    return found


def _calls_in(path: Path) -> Iterator[Call]:
    tree = tree_of(path)
    names = {id(node.value): node.targets[0] for node in tree.body if isinstance(node, ast.Assign)}
    for node in nodes_of(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re" and node.func.attr in FUNCTIONS):
            continue
        given = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "flags")]
        flags = " | ".join(ast.unparse(each) for each in given if "re." in ast.unparse(each))
        name = names.get(id(node))
        used = _uses(path, name.id) if isinstance(name, ast.Name) else frozenset({node.func.attr})
        yield Call(
            path, node.lineno, ast.unparse(node.args[0]), flags, used, name.id if isinstance(name, ast.Name) else ""
        )


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _uses(path: Path, name: str) -> frozenset[str]:
    """The methods that are called of a compiled pattern; "finditer" where it is used in another way."""
    texts = [_read(each) for each in ([path] if name.startswith("_") else modules())]
    found = {use for text in texts if name in text for use in re.findall(rf"\b{name}\b(?!\s*=[^=])\.?(\w*)", text)}
    return frozenset(each if each in FUNCTIONS else "finditer" for each in found - {"pattern"})


def patterns_of(call: Call, built: Mapping[str, str]) -> list[re.Pattern[Any]]:
    """What the source of a pattern comes to; of one that is built at run time, what the expression in `built` holds.

    Raises NameError where there is no such expression.
    """
    module = importlib.import_module(".".join(call.path.relative_to(ROOT).with_suffix("").parts))
    names = {**vars(module), "re": re}
    for key, source in built.items():
        if call.key.startswith(key):
            return [*_held(eval(source, names))]
    value = eval(call.source, names)
    if isinstance(value, re.Pattern):
        return [value]
    return [re.compile(value, eval(call.flags, names) if call.flags else 0)]


def _held(value: Any) -> Iterator[re.Pattern[Any]]:
    """The patterns that a value holds, however deep."""
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, Mapping):
        yield from _held([*value.values()])
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _held(each)
    elif hasattr(value, "__dataclass_fields__"):
        yield from _held([getattr(value, name) for name in value.__dataclass_fields__])


def attacks(pattern: re.Pattern[Any]) -> dict[str, Callable[[int], str]]:
    """Long texts that a pattern may take long over, by what they repeat: each is made of a given length."""
    tree = parser.parse(
        _text(pattern.pattern), pattern.flags & ~re.UNICODE if isinstance(pattern.pattern, bytes) else pattern.flags
    )
    signs = [*dict.fromkeys([*_literals(tree), *SIGNS])]
    made = _Made(tree.state, signs)
    made.walk(tree, [""])
    units = [*dict.fromkeys([*made.units, *signs[:24]])]
    units += ["".join(pair) for pair in product(signs[:6], repeat=2) if pair[0] != pair[1]]
    ends = ["", "\x01"]
    found: dict[tuple[str, str, str, str], None] = {}
    for unit, end in product(dict.fromkeys(units), ends):
        found["", unit, "", end] = None
    for before, unit in dict.fromkeys(made.pumps):
        found[before, unit, "", ""] = found[before, unit, "", "\x01"] = None
    pumps = [*dict.fromkeys(unit for _, unit in made.pumps)]
    for first, second in [*pairwise(pumps), *zip(pumps, pumps[2:], strict=False)][:24]:
        found["", first, second, "\x01"] = None
    return {repr(each)[:160]: _text_of(*each) for each in [*found][:: 1 + len(found) // ATTACKS]}


def _text_of(before: str, unit: str, second: str, end: str) -> Callable[[int], str]:
    def text(length: int) -> str:
        if not second:
            return before + unit * (length // len(unit)) + end
        return before + unit * (length // 2 // len(unit)) + second * (length // 2 // len(second)) + end

    return text


def _text(pattern: str | bytes) -> str:
    return pattern if isinstance(pattern, str) else pattern.decode("latin-1")


def _literals(tree: Iterable[Any]) -> Iterator[str]:
    """The signs that a pattern names."""
    for node in tree:
        match node:
            case (codes.LITERAL | codes.NOT_LITERAL, int(sign)):
                yield chr(sign)
            case (codes.RANGE, (int(first), int(last))):
                yield from (chr(first), chr(last))
            case (_, argument):
                yield from _literals(_parts(argument))


def _parts(argument: Any) -> Iterator[Any]:
    if isinstance(argument, parser.SubPattern):
        yield from argument
    elif isinstance(argument, tuple | list):
        if len(argument) == 2 and isinstance(argument[0], codes._NamedIntConstant):
            yield argument
        for each in argument:
            yield from _parts(each)


class _Made:
    """Texts made from a pattern: `units` of almost-matches, and what is repeated after what (`pumps`)."""

    def __init__(self, state: Any, signs: Sequence[str]) -> None:
        self.state, self.signs = state, signs
        self.units: list[str] = []
        self.pumps: list[tuple[str, str]] = []

    def walk(self, nodes: Sequence[Any], before: Sequence[str]) -> None:
        for node in nodes:
            kind, argument = node
            match kind:
                case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                    _, most, body = argument
                    if most >= MANY:
                        for unit in self.samples(body, 5):
                            if unit:
                                self.pumps += [(each, unit) for each in before]
                                self.units += [each + unit for each in before]
                    self.walk(body, before)
                case codes.SUBPATTERN:
                    self.walk(argument[-1], before)
                case codes.ATOMIC_GROUP:
                    self.walk(argument, before)
                case codes.BRANCH:
                    for branch in argument[1]:
                        self.walk(branch, before)
                case codes.ASSERT | codes.ASSERT_NOT:
                    self.walk(argument[1], before)
            after = self.samples([node], 3)
            before = [
                *dict.fromkeys(
                    [*(each + next(iter(after), "") for each in before), *(before[0] + each for each in after)]
                )
            ]
            before = before[:4]
            self.units += [each for each in before if each]

    def samples(self, nodes: Sequence[Any], most: int) -> list[str]:
        """Texts that the nodes match: each choice once, the others as at first."""
        options = [self._options(node, most) or [""] for node in nodes]
        base = [each[0] for each in options]
        found = dict.fromkeys(["".join(base)])
        for at, each in enumerate(options):
            for option in each[1:]:
                found["".join([*base[:at], option, *base[at + 1 :]])] = None
        return [*found][:most]

    def _options(self, node: Any, most: int) -> list[str]:
        kind, argument = node
        match kind:
            case codes.LITERAL:
                return [chr(argument)]
            case codes.NOT_LITERAL | codes.IN | codes.ANY:
                one = compiler.compile(parser.SubPattern(self.state, [node]), self.state.flags)
                return [sign for sign in (*SIGNS, *self.signs) if one.match(sign)][:most]
            case codes.BRANCH:
                return [each for branch in argument[1] for each in self.samples(branch, 2)][: 2 * most]
            case codes.SUBPATTERN:
                return self.samples(argument[-1], most)
            case codes.ATOMIC_GROUP:
                return self.samples(argument, most)
            case codes.MAX_REPEAT | codes.MIN_REPEAT | codes.POSSESSIVE_REPEAT:
                least, _, body = argument
                return [each * max(1, min(least, 50)) for each in self.samples(body, most)]
            case _:
                return [""]


def seconds(pattern: re.Pattern[Any], used: Iterable[str], text: str) -> float:
    """Processor time of what is done with a pattern, over a whole text."""
    given: Any = text.encode() if isinstance(pattern.pattern, bytes) else text
    began = time.process_time()
    if set(used) <= ANCHORED:
        pattern.match(given)
        pattern.fullmatch(given)
    elif set(used) <= {"search", *ANCHORED}:
        pattern.search(given)
    else:
        for _ in pattern.finditer(given):
            pass
    return time.process_time() - began


def slow(pattern: re.Pattern[Any], used: Iterable[str], most: int = 0) -> str:
    """The text over which a pattern takes more than its length, and how long; "" where there is none.

    With `most`, of a pattern that sees no longer text: whether one of these takes long.
    """
    lengths = [each for each in LENGTHS if each < most] + [most] if most else LENGTHS
    for name, text in attacks(pattern).items():
        for length in lengths:
            took = seconds(pattern, used, text(length))
            if took > QUICK:
                took = min(took, seconds(pattern, used, text(length)))
            if took > QUICK:
                break
        else:
            continue
        if (most or length < LENGTHS[-1]) and took > MOST:
            return f"{name}: {took * 1000:.0f} ms for {length:,} signs"
        if most:
            continue
        times = 2 if took > 10 * QUICK else 4
        long = seconds(pattern, used, text(times * length))
        for _ in range(AGAIN):  # a busy machine stretches single times
            if long <= GROWTH[times] * took:
                break
            took = min(took, seconds(pattern, used, text(length)))
            long = min(long, seconds(pattern, used, text(times * length)))
        # Once more at twice that: a machine that became slower in between stretches one ratio, and not both.
        if long > GROWTH[times] * took and seconds(pattern, used, text(2 * times * length)) > GROWTH[2] * long:
            return f"{name}: {took * 1000:.0f} ms for {length:,} signs, {long * 1000:.0f} ms for {times * length:,}"
    return ""


def _say(said: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(said)}\n")
    sys.stdout.flush()


def main() -> None:
    """Times the patterns, as the JSON of standard input says: which are `built` how, and which see a `window` alone."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    given = json.load(sys.stdin)
    done: set[tuple[Any, int, bool]] = set()
    for call in calls():
        if call.key in given["own"]:
            continue
        _say({"at": call.key, "line": call.line})
        try:
            found = patterns_of(call, given["built"])
        except NameError as error:
            _say({"unknown": call.key, "line": call.line, "error": str(error)})
            continue
        for pattern in found:
            same = pattern.pattern, pattern.flags, call.used <= ANCHORED
            if same not in done and (said := slow(pattern, call.used, given["windows"].get(call.key, 0))):
                _say({"slow": call.key, "line": call.line, "text": said})
            done.add(same)
    _say({"seconds": time.process_time()})


if __name__ == "__main__":
    main()
