"""Pairs of an epoch from a pack of mined questions: right chunks, and wrong ones that the search itself would bring.

At least half of the wrong ones are other chunks of the question's own document, with the same title before them.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from corpora.filings import make_company_title
from corpora.near_misses import make_near_miss
from corpora.pair import Pair, held_out
from corpora.sources.checks import Drawn
from corpora.sources.flattering import flattered
from training.candidates import Asked, Gold, Pack, load
from training.weak_points import FOUND, Met, WeakPoints

QUESTIONS = {
    "squad": 9_000,  # the paragraph that answers among all of its article
    "unansq": 5_000,  # a question that its own paragraph does not answer, nor any other of the article
    "squadx": 2_500,  # paragraphs of articles against what the pool has
    "squads": 2_500,  # single sentences against what the pool has
    "newwiki": 8_000,  # long articles: the chunk that answers among forty with one title
    "tsqa": 2_200,  # one fact of a subject at one time among those of other times
    "fairytale": 4_000,  # scenes of one story
    "tatqa": 6_000,  # reports: another fact of the same company and year, behind the same title
    "fetaqa": 2_500,  # rows of a table that answer, among its other rows
    "aitqa": 1_000,  # tables of annual reports
    "selqa": 2_400,  # sections cut as a library cuts them: where the evidence is and where it is not
    "nq": 3_000,  # whole retrievals of real questions
    "popqa": 1_200,  # subjects of like names
    "medquad": 1_500,  # another question about the same disease
    "qmsum": 1_200,  # other talk of the same meeting
    "evinf": 1_300,  # methods of the trial whose finding is asked for
    "onestop": 1_400,  # paragraphs of one article
    "quoref": 500,  # answers whose subject is named in another sentence
    "asqa": 500,  # questions that several passages answer in part
    "qed": 300,  # real questions
}
"""How many of a set's questions an epoch has; behind each, what they are to teach."""
SAME, NEAR, JUDGED = 0.7, 0.5, 1.0
"""What a wrong text counts: found in the document, found in the pool, and called wrong by its set."""
TITLED = 0.9
"""How often a title stands before the texts of a question, which then all have theirs."""
WHOLE = 0.05
"""How often all that the search found is read, without the text that answers."""
MISSED = 0.25
"""How often a question is also asked as a near miss."""
NAMED = 0.7
"""How often a report without a title gets that of a made-up company."""
REPORTS = {"tatqa"}
FLATTERED = 0.04

OF_EACH, WRONG = 40, 4
"""Questions of each set that show weak points, and other chunks of the document that each of them meets."""
RETRIEVALS = 150


class Mined:
    """A pack as epochs of pairs; it is read when it is first used."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def pack(self) -> Pack:
        return load(self.path)

    @cached_property
    def _by_source(self) -> dict[str, list[Asked]]:
        found: dict[str, list[Asked]] = {name: [] for name in QUESTIONS}
        for each in self.pack.asked:
            if each.source in found and (each.golds or each.wrong or each.same):
                found[each.source].append(each)
        return found

    @cached_property
    def _answering(self) -> set[int]:
        """Texts that answer some question: they say things that are asked for, and so are the likelier lures."""
        return {gold.text for each in self.pack.asked for gold in each.golds}

    def __getstate__(self) -> dict[str, object]:
        return {"path": self.path}

    def epoch(self, seed: int) -> list[Pair]:
        """The same pairs for the same seed, those held out among them."""
        dice = random.Random(f"mined {seed}")
        found: list[Pair] = []
        for name, most in QUESTIONS.items():
            asked = self._by_source[name]
            for each in dice.sample(asked, min(most, len(asked))):
                found += self.pairs(each, seed, dice)
        return [*found, *flattered(found, int(FLATTERED * len(found)), dice)]

    def pairs(self, asked: Asked, seed: int, dice: random.Random) -> Iterator[Pair]:
        """What one question gives: a right chunk, two or three wrong ones, and at times a near miss or all found."""
        report = asked.source in REPORTS and dice.random() < NAMED
        company, year, title = make_company_title(random.Random(f"{seed} {asked.group}"))
        titled = dice.random() < TITLED
        named = report and titled and dice.random() < 0.6
        question = _of_company(asked.question, company, year, dice) if named else asked.question
        base = Pair(question, "", 0.0, asked.group, f"mined {asked.source}", keeps=())

        def of(number: int, source: str, weight: float) -> Pair:
            text = self.pack.texts[number]
            own = text.group == asked.group
            before = text.title
            if report:
                ahead = title if own else make_company_title(random.Random(f"{seed} {text.group}"))[2]
                before = f"{ahead} › {text.title}" if text.title else ahead
            kind = f"{base.source} {source}"
            return replace(base, text=text.text, title=before if titled else "", source=kind, weight=weight)

        if asked.golds:
            gold = dice.choice(asked.golds)
            right = _right(of(gold.text, "right", 1.0), gold)
            yield right
            if titled and right.title and dice.random() < 0.1:
                yield replace(right, title="")
            if dice.random() < MISSED:
                other = make_near_miss(question, right.read, dice)
                if other != question:
                    missed = f"{base.source} missed"
                    yield replace(right, question=other, label=0.0, spots=(), keeps=(), source=missed, weight=0.7)
            if named and dice.random() < 0.2:
                foreign = make_company_title(dice)[2]
                yield replace(
                    right, title=foreign, label=0.0, spots=(), keeps=(), source=f"{base.source} foreign", weight=0.7
                )
        if asked.near and dice.random() < WHOLE:
            yield from (of(number, "found", NEAR) for number in asked.near[:8])
            return
        wrong = self._wrong(asked, dice, far=bool(asked.near) and (asked.source not in REPORTS or named))
        for number, source, weight in wrong:
            pair = of(number, source, weight)
            yield pair
            if pair.title and source == "same" and dice.random() < 0.1:
                yield replace(pair, title="")

    def _wrong(self, asked: Asked, dice: random.Random, *, far: bool) -> Iterator[tuple[int, str, float]]:
        """Two wrong texts, at least one of the question's own document wherever it has others."""
        texts = self.pack.texts
        own = [number for number in asked.wrong if texts[number].group == asked.group]
        foreign = [number for number in asked.wrong if texts[number].group != asked.group]
        same = [number for number in asked.same if number not in own]
        if own and (not same or dice.random() < (0.8 if not asked.golds else 0.3)):
            yield dice.choice(own), "same", JUDGED
        elif same:
            yield self._lure(same, dice), "same", SAME
        elif foreign:
            yield dice.choice(foreign), "other", NEAR
        if same and dice.random() < 0.5:
            yield self._lure(same, dice), "same", SAME
        elif far:
            yield asked.near[_early(len(asked.near), dice)], "near", NEAR
        elif len(own) > 1:
            yield dice.choice(own), "same", JUDGED

    def _lure(self, numbers: Sequence[int], dice: random.Random) -> int:
        """One of a ranking, the first and those that answer other questions more often."""
        found = [numbers[_early(len(numbers), dice)] for _ in range(2)]
        return next((number for number in found if number in self._answering), found[0])


def _early(count: int, dice: random.Random) -> int:
    return min(int(dice.expovariate(0.25)), count - 1)


def _right(pair: Pair, gold: Gold) -> Pair:
    return replace(pair, label=1.0, spots=gold.spots, keeps=gold.keeps)


def _of_company(question: str, company: str, year: int, dice: random.Random) -> str:
    """A question about a report, asked as one who has the reports of many companies asks it."""
    small = question[:1].lower() + question[1:]
    return dice.choice(
        (
            f"{company} {year}: {question}",
            f"In {company}'s {year} annual report, {small}",
            f"For {company}, {small}",
            f"{question.rstrip('?. ')} at {company}?",
        )
    )


class Mixed:
    """Epochs of several kinds as one: of each at most the given number of pairs."""

    def __init__(self, parts: Sequence[tuple[Drawn, int]]) -> None:
        self.parts = parts

    def epoch(self, seed: int) -> list[Pair]:
        dice = random.Random(f"mixed {seed}")
        found: list[Pair] = []
        for part, most in self.parts:
            pairs = list(part.epoch(seed))
            found += dice.sample(pairs, most) if most and len(pairs) > most else pairs
        return found


def draw_weak_points(pack: Pack, seed: int = 1) -> WeakPoints:
    """Held-out questions of a pack, the same for the same pack."""
    dice = random.Random(seed)
    held = [each for each in pack.asked if held_out(each.group) and each.golds]
    sources: dict[str, list[Asked]] = {}
    for each in held:
        if len(each.same) >= 2:
            sources.setdefault(each.source, []).append(each)
    drawn = [asked for _, some in sorted(sources.items()) for asked in dice.sample(some, min(OF_EACH, len(some)))]
    found = [each for each in held if len(each.near) >= FOUND + 1]
    found = dice.sample(found, min(RETRIEVALS, len(found)))
    return WeakPoints(
        [_meet(pack, seed, each, each.same[:WRONG]) for each in drawn],
        [_meet(pack, seed, each, each.near[: FOUND + 1]) for each in found],
    )


def _meet(pack: Pack, seed: int, asked: Asked, numbers: Sequence[int]) -> Met:
    question = asked.question
    if report := asked.source in REPORTS:
        company, year, _ = _title(seed, asked.group)
        question = f"In {company}'s {year} annual report, {question[:1].lower()}{question[1:]}"

    def pair(number: int, label: float) -> Pair:
        text = pack.texts[number]
        title = text.title
        if report:
            title = " › ".join(filter(None, (_title(seed, text.group)[2], text.title)))
        return Pair(question, text.text, label, asked.group, asked.source, title)

    return Met(pair(asked.golds[0].text, 1.0), tuple(pair(number, 0.0) for number in numbers))


def _title(seed: int, group: str) -> tuple[str, int, str]:
    return make_company_title(random.Random(f"{seed} {group}"))
