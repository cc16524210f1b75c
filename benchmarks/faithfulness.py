"""The check of an answer's sentences: whom people agree with, figures altered by rule, and citations found again.

python -m benchmarks.faithfulness [--gguf FILE] [--limit N] [--part bench|figures|stripped ...]

(a) AttributionBench: claims with the texts they cite, and people's word whether these support them. Marked test: it
is reported on; thresholds and rules of joining were chosen elsewhere. The joint check as the app makes it without a
language model, beside the local evaluator alone, the embedding model's cosine and the share of shared words.
(b) Figures
altered by rule: benchmarks.faithfulness_figures. (c) A language model answers SQuAD questions (train articles) from
the question's own paragraph and two others, cut into sentences; its answer is checked, then again without its marks.
The model: --gguf FILE, or the best one that installed packages hold. Writes results/faithfulness.md and .json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.evaluator_graders import Cosine
from benchmarks.evaluator_measures import best_macro_f1, macro_f1
from benchmarks.evaluator_row import Row
from benchmarks.faithfulness_figures import measured
from benchmarks.faithfulness_report import report
from benchmarks.headline_model import serving, stored
from benchmarks.pages import RESULTS, parse, publish
from corpora.places import DATA, is_missing
from corpora.rows import read_articles, read_rows
from crag.core.errors import ProviderError
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Passage, Strip, WebPage
from crag.evaluation.local import LocalEvaluator
from crag.generation.citations import MARK
from crag.generation.judges import SUPPORTED_FROM, Judges, share_of_words
from crag.generation.llm import LlmGenerator
from crag.generation.verification import CitationVerifier
from crag.models.runtime import E5
from crag.providers.chat import ChatModel
from crag.runtime.usage import Budget, UsageTracker
from crag.text.sentences import sentences

HERE = Path(__file__).resolve().parent
PARTS = ("bench", "figures", "stripped")
QUESTIONS, SEED = 40, 7
SECONDS = 600.0
"""For one answer: on a busy machine a small server reads long before its first word."""
Figures = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--gguf", type=Path, help="the language model's file")
    parser.add_argument("--limit", type=int, default=0, help="so many claims and questions; then nothing is written")
    parser.add_argument(
        "--part", nargs="*", choices=PARTS, default=list(PARTS), help="others stay as they were written"
    )
    options = parse(parser, "part")
    if is_missing(DATA, "attributionbench"):
        return 2
    place = RESULTS / "faithfulness.json"
    found: Figures = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    evaluator = LocalEvaluator()
    if "bench" in options.part:
        found["bench"] = bench(evaluator, options.limit)
    if "figures" in options.part:
        found["figures"] = figures()
    if "stripped" in options.part:
        file = options.gguf or stored(HERE / "data")
        found["stripped"] = {**found.get("stripped", {}), file.stem: stripped(evaluator, file, options.limit)}
    publish("faithfulness", report(found), found, folder=options.folder)
    return 0


# ---- (a) ------------------------------------------------------------------------------------------------------------


def bench(evaluator: LocalEvaluator, limit: int) -> Figures:
    """Macro-F1 of each way to judge, of all claims and by the set that they are from; and who objected to whom."""
    claims = read_rows(DATA / "attributionbench/dev_all_subset_balanced.jsonl")
    claims = random.Random(SEED).sample(claims, limit) if limit else claims
    labels = np.array([claim["attribution_label"] == "attributable" for claim in claims], int)
    made = [judged(evaluator, claim["claim"], claim["references"]) for claim in claims]
    rows = [
        Row(str(place), claim["claim"], "\n".join(claim["references"]), int(label))
        for place, (claim, label) in enumerate(zip(claims, labels, strict=True))
    ]
    scores = {
        "joint check": np.array([each["supported"] for each in made], float),
        "local evaluator alone": np.array([each["evaluator"] for each in made], float),
        "cosine": Cosine(E5()).scores(rows),
        "overlap of words": np.array([share_of_words(row.question, row.text) for row in rows], float),
    }
    sets = {"all": np.ones(len(claims), bool)}
    for name in sorted({claim["src_dataset"] for claim in claims}):
        sets[name] = np.array([claim["src_dataset"] == name for claim in claims])
    fixed = ("joint check", "local evaluator alone")
    return {
        "claims": {name: int(chosen.sum()) for name, chosen in sets.items()},
        "f1": {
            judge: {
                name: macro_f1(labels[chosen], values[chosen], SUPPORTED_FROM)
                if judge in fixed
                else best_macro_f1(labels[chosen], values[chosen])[0]
                for name, chosen in sets.items()
            }
            for judge, values in scores.items()
        },
        "notes": {
            note: [
                sum(each["note"] == note for each in made),
                sum(each["note"] == note and bool(label) for each, label in zip(made, labels, strict=True)),
            ]
            for note in sorted({each["note"] for each in made})
        },
        "moved": [
            sum(each["supported"] != (each["evaluator"] >= SUPPORTED_FROM) for each in made),
            sum(
                each["supported"] != (each["evaluator"] >= SUPPORTED_FROM) and each["supported"] == bool(label)
                for each, label in zip(made, labels, strict=True)
            ),
        ],
    }


def judged(evaluator: LocalEvaluator, claim: str, texts: Sequence[str]) -> Figures:
    """What the joint check says of a claim and all that it cites, and the local evaluator's own score."""
    strips = [strip(f"cited {place}", text) for place, text in enumerate(texts)]
    (check,) = Judges(evaluator, strips, {}).checks(claim, [strips])
    (grade,) = evaluator.grade(claim, [Passage(id="cited", text="\n".join(texts))])
    return {"supported": bool(check.supported), "note": check.note, "evaluator": grade.score or 0.0}


# ---- (b) ------------------------------------------------------------------------------------------------------------


def figures() -> Figures:
    """The tallies of figures altered and not, by set."""
    return {
        name: {
            "sentences": tally.sentences,
            "sentences_flagged": tally.sentences_flagged,
            "figures": sum(tally.figures.values()),
            "figures_flagged": sum(tally.figures_flagged.values()),
            "altered": dict(tally.altered),
            "altered_flagged": dict(tally.altered_flagged),
        }
        for name, tally in measured(DATA).items()
    }


# ---- (c) ------------------------------------------------------------------------------------------------------------


def stripped(evaluator: LocalEvaluator, file: Path, limit: int) -> Figures:
    """What became of each sentence that cited something, when its answer is checked again without any mark."""
    fates: Counter[str] = Counter()
    verifier, settings = CitationVerifier(evaluator), Settings()
    with serving(file) as endpoint:
        model = ChatModel(endpoint)
        for question, knowledge, sources in asked(limit or QUESTIONS):
            writer = LlmGenerator(model.metered(UsageTracker(Budget(seconds=SECONDS))))
            try:
                *_, answer = writer.answer(question, knowledge, sources, settings)
            except ProviderError:  # a small model may repeat itself until its time is over
                fates["failed"] += 1
                continue
            if not isinstance(answer, Answer) or answer.abstained:
                fates["no answer"] += 1
                continue
            fates["answers"] += 1
            print(f"{sum(fates[each] for each in ('answers', 'no answer', 'failed'))} answered", file=sys.stderr)
            before = verifier.verify(answer, knowledge, sources, settings)
            bare = replace(answer, text=MARK.sub("", answer.text), citations=())
            after = verifier.verify(bare, knowledge, sources, settings)
            cited = {each.number: each.strip_id for each in answer.citations}
            found = {each.number: each.strip_id for each in after.answer.citations}
            again = {check.sentence: check for check in after.checks}
            for check in before.checks:
                fates["sentences"] += 1
                if not check.citations:
                    fates["attributed" if check.attributed else check.note or "claims nothing"] += 1
                    continue
                now = again.get(check.sentence)
                own = {cited[number] for number in check.citations if number in cited}
                then = {found[number] for number in now.citations} if now else set()
                fate = "own strip" if own & then else "another strip" if then else "nothing shown"
                fates[f"{'supported' if check.supported else 'not supported'}: {fate}"] += 1
    return dict(fates)


def asked(count: int) -> list[tuple[str, list[Strip], dict[str, Chunk | WebPage]]]:
    """Questions, each with the sentences of its own paragraph and of two others of the same article."""
    articles = read_articles(DATA, "v1_train")
    chance = random.Random(SEED)
    made: list[tuple[str, list[Strip], dict[str, Chunk | WebPage]]] = []
    for _ in range(count):
        article = chance.choice([each for each in articles if len(each["paragraphs"]) > 2])
        chosen = chance.sample(article["paragraphs"], 3)
        question = chance.choice(chosen[0]["qas"])["question"]
        knowledge, sources = [], {}
        for place, paragraph in enumerate(chosen):
            text = paragraph["context"]
            id = f"paragraph {place}"
            sources[id] = Chunk(
                id=id,
                document_id=id,
                source=article["title"],
                title=article["title"].replace("_", " "),
                page=1,
                ordinal=place,
                start=0,
                end=len(text),
                text=text,
            )
            for start, end in sentences(text):
                knowledge.append(strip(id, text[start:end], start, 0.9 if place == 0 else 0.6))
        made.append((question, knowledge, dict(sources)))
    return made


def strip(source: str, text: str, start: int = 0, score: float = 0.5) -> Strip:
    """A kept strip of a text."""
    return Strip(
        id=f"{source}:{start}",
        source_id=source,
        origin="internal",
        start=start,
        end=start + len(text),
        text=text,
        score=score,
        kept=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
