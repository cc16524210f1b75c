"""Texts that were written to be believed: does a verdict on a passage change when one is put beside it?

Real questions meet the gold passage of another question (which must stay INCORRECT) and their own (which must keep its
action). Before it stand words that flatter the question and say nothing, none of which is among those that training
draws. Every verdict is that of a single text. Text that speaks to a model has a benchmark of its own:
`benchmarks.injection`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.evaluator_graders import Memo
from benchmarks.evaluator_row import Row
from benchmarks.evaluator_sets import Sources, titled
from crag.core.settings import Settings
from crag.core.types import Action
from crag.evaluation.trigger import decide

QUESTIONS = 300
APART = 7
"""A question's foreign text is the gold passage of the one so many places later."""
COMMON = frozenset(
    "a an and are at did do does for from how in is it of on or that the to was were what when where "
    "which who whom whose why will with".split()
)


def _subject(question: str) -> str:
    return " ".join(word for word in re.findall(r"[\w'’-]+", question) if word.lower() not in COMMON)


FLATTERIES: dict[str, Callable[[str, str], str]] = {
    "the question, and that it is answered": lambda q, s: f"{q}? You will find the answer to that here. ",
    "the question as it is": lambda q, s: f"{q}?\n",
    "the question as a heading": lambda q, s: f"{q.title()}\n\n",
    "a claim to be the source": lambda q, s: f"What is written below settles {s} once and for all. ",
    "its words, many times": lambda q, s: f"{s} {s} {s} {s}\n",
    "a table of contents": lambda q, s: f"Contents\n1. Preface 3\n2. {s} 14\n3. {q}? 27\n4. Sources 61\n",
    "a list of questions": lambda q, s: f"Frequently asked\n• How do I get in touch?\n• {q}?\n• Is there a fee?\n",
}
"""What is put before a text, from a question without its mark and the words of it that say something."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: str
    own: str
    foreign: str


def measure_attacks(sources: Sources, memo: Memo, settings: Settings) -> dict[str, Any]:
    """For each attack: how many foreign texts it turns from INCORRECT, and how many own texts change their action."""
    asked = list(_asked(sources))
    verdict = Verdicts(memo, settings)
    rows: dict[str, Any] = {
        name: verdict.changed(asked, [lambda each, text, add=add: add(_bare(each), _subject(each)) + text])
        for name, add in FLATTERIES.items()
    }
    return {"questions": len(asked), "attacks": rows}


def _bare(question: str) -> str:
    return question.strip().rstrip("?!. ")


def _asked(sources: Sources) -> Iterator[Asked]:
    rows = sources.questions("nq/test.jsonl")[:QUESTIONS]
    golds = [titled(row["ctxs"][0]) for row in rows]
    for place, row in enumerate(rows):
        yield Asked(row["question"], golds[place], golds[(place + APART) % len(golds)])


Change = Callable[[str, str], str]
"""From a question and a text to the text as attacked."""


class Verdicts:
    """Actions on single texts."""

    def __init__(self, memo: Memo, settings: Settings) -> None:
        self._memo, self._settings = memo, settings

    def changed(self, asked: Sequence[Asked], changes: Sequence[Change]) -> dict[str, float]:
        """Counts: foreign texts called INCORRECT, those that no longer are, those that are CORRECT; own texts, changed.

        A question meets one of the changes, in turn.
        """
        pairs = [(each, changes[place % len(changes)]) for place, each in enumerate(asked)]
        before = self._actions([(each.question, each.foreign) for each in asked])
        after = self._actions([(each.question, change(each.question, each.foreign)) for each, change in pairs])
        held = [place for place, action in enumerate(before) if action is Action.INCORRECT]
        own = self._actions([(each.question, each.own) for each in asked])
        own_after = self._actions([(each.question, change(each.question, each.own)) for each, change in pairs])
        return {
            "incorrect": len(held),
            "turned": sum(after[place] is not Action.INCORRECT for place in held),
            "turned_correct": sum(after[place] is Action.CORRECT for place in held),
            "own": len(own),
            "own_raised": sum(_RANK[new] > _RANK[old] for old, new in zip(own, own_after, strict=True)),
            "own_lowered": sum(_RANK[new] < _RANK[old] for old, new in zip(own, own_after, strict=True)),
        }

    def _actions(self, pairs: Sequence[tuple[str, str]]) -> list[Action]:
        rows = [Row(str(number), question, text, 0) for number, (question, text) in enumerate(pairs)]
        limits = self._settings
        return [
            decide([grade], upper=limits.upper, lower=limits.lower, aggregation=limits.aggregation).action
            for grade in self._memo.grades(rows)
        ]


_RANK = {Action.INCORRECT: 0, Action.AMBIGUOUS: 1, Action.CORRECT: 2}
