"""Part `figures` of benchmarks.faithfulness: how many altered figures are flagged, and how many true ones are.

Sentences that people say are supported by a text, or that the text says itself, are checked as they are: whatever is
flagged in them is a false alarm. Then one figure at a time is altered by rule: a digit changed, a year moved by one, a
million made a billion, a name put in another's place. The original stands word for word in the text, what takes its
place nowhere in it. Each set is halved by a hash of its ids: rules were made on one half, the other is measured.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from corpora.rows import read_rows
from crag.generation.citations import MARK
from crag.generation.figures import check_figures
from crag.text.names import GENERIC, fold

MOST = 1_200
"""Sentences of one set."""
RULES = ("digit", "year", "unit", "name")

_QUESTION = re.compile(r"(?:What|Which) (is|was|were|are) (the .{8,200}?)\?$")
_NUMBER = re.compile(r"(?<![\w.,/:-])\$?(\d+(?:,\d{3})*(?:\.\d+)?)%?(?![\w:-]|[.,]\d)")
_YEAR = re.compile(r"(?<![\w.,$/–-])(1[5-9]\d\d|20[0-4]\d)(?![\w'’–-]|[.,]\d)")
_UNIT = re.compile(r"(?<=\d )(million|billion|thousand)\b")
_OTHER = {"million": "billion", "billion": "million", "thousand": "million"}
NAME = re.compile(r"(?<=[a-z,] )(?<!\bof )(?<!\bthe )[A-Z][a-z]{3,}(?: [A-Z][a-z]+)*\b(?!\S?[\w’'&-]| [A-Z(&]| of\b)")


@dataclass(frozen=True, slots=True)
class Case:
    """A sentence that its text supports. `title` as a cited document has one."""

    set: str
    id: str
    sentence: str
    text: str


@dataclass(slots=True)
class Tally:
    """What came of one set: figures and sentences that are true, and those of them that were flagged."""

    sentences: int = 0
    sentences_flagged: int = 0
    figures: Counter[str] = field(default_factory=Counter)
    figures_flagged: Counter[str] = field(default_factory=Counter)
    altered: Counter[str] = field(default_factory=Counter)
    altered_flagged: Counter[str] = field(default_factory=Counter)


def attribution_bench(data: Path) -> Iterator[Case]:
    """Claims that people judged to be supported by their references."""
    for row in read_rows(data / "attributionbench" / "dev_all_subset_balanced.jsonl"):
        if row["attribution_label"] == "attributable":
            yield Case("AttributionBench, supported", row["id"], row["claim"], "\n".join(row["references"]))


def fetaqa(data: Path) -> Iterator[Case]:
    """Sentences that people wrote of a table's cells."""
    for row in read_rows(data / "train/fetaqa.jsonl.gz"):
        yield Case("FeTaQA answers", row["id"], row["answers"][0], join_passages(row["passages"]))


def stated(data: Path) -> Iterator[Case]:
    """TAT-QA: the question made a statement with its answer, which is often worked out from the table."""
    for row in read_rows(data / "train/tatqa.jsonl.gz"):
        asked = _QUESTION.match(row["question"])
        if asked and len(row["answers"]) == 1 and re.search(r"\d", row["answers"][0]):
            subject = asked[2][0].upper() + asked[2][1:]
            sentence = f"{subject} {asked[1]} {row['answers'][0]}."
            yield Case("TAT-QA, stated", row["id"], sentence, join_passages(row["passages"]))


def quoted(data: Path) -> Iterator[Case]:
    """What an extractive answer quotes: rows of tables and sentences that people marked as evidence."""
    for name in ("tatqa", "squad_sentences", "selqa"):
        for row in read_rows(data / "train" / f"{name}.jsonl.gz"):
            for passage in row["passages"]:
                for start, end in passage["evidence_sentences"][:1]:
                    if passage["label"] == 1:
                        sentence = " ".join(passage["text"][start:end].split())
                        yield Case("Extractive answers", row["id"], sentence, f"{passage['title']}\n{passage['text']}")


def join_passages(passages: list[dict[str, Any]]) -> str:
    return "\n\n".join(f"{each['title']}\n{each['text']}" for each in passages if each["label"] == 1)


def cases(data: Path) -> Iterator[Case]:
    """The sentences of the measured half, at most MOST a set, none without a figure by the rules here."""
    for source in (attribution_bench, fetaqa, stated, quoted):
        found = [case for case in source(data) if case.text and hashlib.sha256(case.id.encode()).digest()[0] % 2]
        random.Random(16).shuffle(found)
        for case in found[:MOST]:
            yield Case(case.set, case.id, " ".join(MARK.sub("", case.sentence).split()), case.text)


def altered(case: Case, rule: str, names: list[str], chance: random.Random) -> tuple[str, int, int] | None:
    """The sentence with one figure altered, and where that stands; None where the rule finds none to alter."""
    pattern = {"digit": _NUMBER, "year": _YEAR, "unit": _UNIT, "name": NAME}[rule]
    found = [match for match in pattern.finditer(case.sentence) if _stands(_figure(match, rule), case.text)]
    found = [match for match in found if rule != "digit" or not _YEAR.fullmatch(match[1])]
    chance.shuffle(found)
    for match in found:
        start, end = match.span(1) if rule in ("digit", "year") else match.span()
        for _ in range(6):
            other = _changed(match, rule, names, chance)
            new = case.sentence[:start] + other + case.sentence[end:]
            lies = other if rule != "unit" else f"{_number_before(case.sentence, start)} {other}"
            if not _stands(lies, case.text) and other != case.sentence[start:end]:
                return new, start, start + len(other)
    return None


def _figure(match: re.Match[str], rule: str) -> str:
    if rule == "unit":
        return f"{_number_before(match.string, match.start())} {match.group()}"
    return match[1] if rule in ("digit", "year") else match.group()


def _number_before(text: str, at: int) -> str:
    return text[:at].split()[-1].lstrip("$€£(")


def _stands(figure: str, text: str) -> bool:
    """Whether it is there letter by letter, case aside; a number not as a part of a longer one."""
    edge = r"(?<![\d.,])" if figure[0].isdigit() else r"\b"
    return re.search(rf"{edge}{re.escape(figure)}(?![\d]|[.,]\d)", text, re.IGNORECASE) is not None


def _changed(match: re.Match[str], rule: str, names: list[str], chance: random.Random) -> str:
    if rule == "name":
        return chance.choice(names)
    if rule == "unit":
        return _OTHER[match.group()]
    if rule == "year":
        return str(int(match[1]) + chance.choice((-1, 1)))
    digits = [place for place, sign in enumerate(match[1]) if sign.isdigit()]
    place = chance.choice(digits)
    choice = [digit for digit in "123456789" if digit != match[1][place]]
    return match[1][:place] + chance.choice(choice) + match[1][place + 1 :]


def measured(data: Path) -> dict[str, Tally]:
    """The tallies by set."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    found = list(cases(data))
    names: dict[str, list[str]] = defaultdict(list)
    for case in found:
        names[case.set] += [name for name in NAME.findall(case.sentence) if fold(name) not in GENERIC]
    chance = random.Random(16)
    for case in found:
        tally, cited = tallies[case.set], {"cited": case.text}
        if checks := check_figures(case.sentence, cited):
            wrong = [each for each in checks if each.state == "missing"]
            tally.sentences += 1
            tally.sentences_flagged += bool(wrong)
            tally.figures.update(each.kind for each in checks)
            tally.figures_flagged.update(each.kind for each in wrong)
        for rule in RULES:
            if names[case.set] and (made := altered(case, rule, names[case.set], chance)) is not None:
                sentence, start, end = made
                tally.altered[rule] += 1
                tally.altered_flagged[rule] += any(
                    each.state == "missing" and each.start < end and start < each.end
                    for each in check_figures(sentence, cited)
                )
    return tallies
