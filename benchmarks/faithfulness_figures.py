"""Figures checked as figures: how many altered ones are flagged, and how many true ones are.

python -m benchmarks.faithfulness_figures [--half dev|report] [--show]

Sentences that people say are supported by a text, or that the text says itself, are checked as they are: whatever is
flagged in them is a false alarm. Then one figure at a time is altered by rule: a digit changed, a year moved by one, a
million made a billion, a name put in another's place. The original stands word for word in the text, what takes its
place nowhere in it. Each set is halved by a hash of its ids: rules were made on one half, the other is reported.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from crag.core.types import FigureCheck
from crag.generation.citations import MARK
from crag.generation.figures import check_figures
from crag.text.names import GENERIC, fold

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("CRAG_SHARED", ROOT.parent / "shared")) / "data"
RESULTS = ROOT / "benchmarks" / "results"
MOST = 1_200
"""Sentences of one set."""
RULES = ("digit", "year", "unit", "name")

Half = Literal["dev", "report"]

HEAD = """# Figures checked as figures

Made by `python -m benchmarks.faithfulness_figures`, on the {half} half of each set: every number, date and name of a
sentence is looked for in the text that supports it (`crag/generation/figures.py`). Goals: of altered figures 95 %
flagged, of true ones at most 3 %.

{table}

Of all true figures flagged: {by_kind}.

*Sentences flagged*, *figures flagged*: false alarms, on sentences that people say the text supports
(AttributionBench: claims judged attributable; FeTaQA: sentences people wrote of a table; TAT-QA: question and answer
made one statement; extractive answers: evidence that people marked, quoted). *Altered*: one figure changed by rule,
whose original stands in the text word for word and whose new value does not; *flagged* where the very figure is marked
as missing.

AttributionBench's judges knew the question, which often names the subject that its reference does not: most of what is
flagged there are names that the reference indeed does not hold. TAT-QA's answers are often worked out, or given
without their scale: a figure that stands nowhere is flagged, however it comes out of others. A count of what a table
lists is flagged, too, where it is written in digits.
"""

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
    with (data / "attributionbench" / "dev_all_subset_balanced.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["attribution_label"] == "attributable":
                yield Case("AttributionBench, supported", row["id"], row["claim"], "\n".join(row["references"]))


def fetaqa(data: Path) -> Iterator[Case]:
    """Sentences that people wrote of a table's cells."""
    for row in read_rows(data, "fetaqa"):
        yield Case("FeTaQA answers", row["id"], row["answers"][0], join_passages(row["passages"]))


def stated(data: Path) -> Iterator[Case]:
    """TAT-QA: the question made a statement with its answer, which is often worked out from the table."""
    for row in read_rows(data, "tatqa"):
        asked = _QUESTION.match(row["question"])
        if asked and len(row["answers"]) == 1 and re.search(r"\d", row["answers"][0]):
            subject = asked[2][0].upper() + asked[2][1:]
            sentence = f"{subject} {asked[1]} {row['answers'][0]}."
            yield Case("TAT-QA, stated", row["id"], sentence, join_passages(row["passages"]))


def quoted(data: Path) -> Iterator[Case]:
    """What an extractive answer quotes: rows of tables and sentences that people marked as evidence."""
    for name in ("tatqa", "squad_sentences", "selqa"):
        for row in read_rows(data, name):
            for passage in row["passages"]:
                for start, end in passage["evidence_sentences"][:1]:
                    if passage["label"] == 1:
                        sentence = " ".join(passage["text"][start:end].split())
                        yield Case("Extractive answers", row["id"], sentence, f"{passage['title']}\n{passage['text']}")


def read_rows(data: Path, name: str) -> Iterator[Mapping[str, Any]]:
    with gzip.open(data / "train" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def join_passages(passages: list[dict[str, Any]]) -> str:
    return "\n\n".join(f"{each['title']}\n{each['text']}" for each in passages if each["label"] == 1)


def cases(half: Half, data: Path = DATA) -> Iterator[Case]:
    """The sentences of one half, at most MOST a set, none without a figure by the rules here."""
    for source in (attribution_bench, fetaqa, stated, quoted):
        found = [case for case in source(data) if case.text and half_of(case.id) == half]
        random.Random(16).shuffle(found)
        for case in found[:MOST]:
            yield Case(case.set, case.id, " ".join(MARK.sub("", case.sentence).split()), case.text)


def half_of(id: str) -> Half:
    return "report" if hashlib.sha256(id.encode()).digest()[0] % 2 else "dev"


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


def measured(half: Half, data: Path = DATA, show: bool = False) -> dict[str, Tally]:
    """The tallies by set."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    found = list(cases(half, data))
    names: dict[str, list[str]] = defaultdict(list)
    for case in found:
        names[case.set] += [name for name in NAME.findall(case.sentence) if fold(name) not in GENERIC]
    chance = random.Random(16)
    for case in found:
        tally, cited = tallies[case.set], {"cited": case.text}
        _true(case, check_figures(case.sentence, cited), tally, show)
        for rule in RULES:
            if names[case.set] and (made := altered(case, rule, names[case.set], chance)) is not None:
                sentence, start, end = made
                tally.altered[rule] += 1
                hit = any(
                    each.state == "missing" and each.start < end and start < each.end
                    for each in check_figures(sentence, cited)
                )
                tally.altered_flagged[rule] += hit
                if show and not hit:
                    print(f"MISSED {rule}: {sentence[start:end]!r} in {sentence[:300]}")
    return tallies


def _true(case: Case, checks: tuple[FigureCheck, ...], tally: Tally, show: bool) -> None:
    if not checks:
        return
    wrong = [each for each in checks if each.state == "missing"]
    tally.sentences += 1
    tally.sentences_flagged += bool(wrong)
    tally.figures.update(each.kind for each in checks)
    tally.figures_flagged.update(each.kind for each in wrong)
    if show and wrong:
        print(f"FALSE {case.set}: {[(each.kind, each.text) for each in wrong]} in {case.sentence[:300]}")


def rows(half: Half = "report", data: Path = DATA) -> list[dict[str, Any]]:
    """One row a set and one over all: counts of true figures and sentences flagged, and of altered ones by rule."""
    tallies = measured(half, data)
    whole = Tally()
    for tally in tallies.values():
        for each in fields(Tally):
            setattr(whole, each.name, getattr(whole, each.name) + getattr(tally, each.name))
    return [
        {"set": name} | {each.name: _plain(getattr(tally, each.name)) for each in fields(Tally)}
        for name, tally in [*tallies.items(), ("all", whole)]
    ]


def _plain(value: int | Counter[str]) -> int | dict[str, int]:
    return value if isinstance(value, int) else dict(sorted(value.items()))


def report(found: Sequence[Mapping[str, Any]], half: Half) -> str:
    """The page."""
    head = ["set", "sentences", "flagged", "figures", "flagged", "altered", "flagged", *RULES]
    lines = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    for row in found:
        cells = [row["set"], f"{row['sentences']:,}", _share(row["sentences_flagged"], row["sentences"])]
        total, altered = sum(row["figures"].values()), sum(row["altered"].values())
        cells += [f"{total:,}", _share(sum(row["figures_flagged"].values()), total)]
        cells += [f"{altered:,}", _share(sum(row["altered_flagged"].values()), altered)]
        cells += [_share(row["altered_flagged"].get(rule, 0), row["altered"].get(rule, 0)) for rule in RULES]
        lines.append(f"| {' | '.join(cells)} |")
    kinds = found[-1]
    by_kind = ", ".join(
        f"{kind}s {_share(kinds['figures_flagged'].get(kind, 0), kinds['figures'].get(kind, 0))}"
        for kind in ("number", "date", "name")
    )
    return HEAD.format(half=half, table="\n".join(lines), by_kind=by_kind)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, default=DATA, help="the shared data folder")
    parser.add_argument("--half", choices=["dev", "report"], default="report", help="dev is only printed")
    parser.add_argument("--show", action="store_true", help="print each false alarm and each that was missed")
    options = parser.parse_args()
    if not (options.data / "attributionbench").is_dir():
        print(f"Skipped: no AttributionBench in {options.data}. Give --data or set CRAG_SHARED.", file=sys.stderr)
        return 2
    if options.show:
        measured(options.half, options.data, show=True)
        return 0
    found = rows(options.half, options.data)
    page = report(found, options.half)
    print(page)
    if options.half == "report":
        (RESULTS / "faithfulness_figures.md").write_text(page, encoding="utf-8")
        (RESULTS / "faithfulness_figures.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
