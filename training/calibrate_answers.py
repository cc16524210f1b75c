"""Fits the layers that say how likely a quoted answer is right, and adds them to head.json.

    python -m training.calibrate_answers [--data FOLDER] [--papers FOLDER] [--cache FOLDER] [--keep FILE] [--only NAME]

Run it after training.calibrate_candidates: it asks whole questions of today's engine. The questions are of articles,
passages, tables and papers that no weight was fitted on and that benchmarks.answers does not report on, and are asked
under `balanced`; a part has no answer there: written to have none, of a period that is in no table, of a passage that
is not in the library. Those of the other layer are of XQuAD's train part, in eleven languages. --papers has the
folders of benchmarks.papers, of which the second, sixth and ninth are left out; without it there are no questions of
papers. benchmarks.answers judges what is right. Figures are cross-validated by document; what is written is fitted on
all. --keep FILE holds what was read, so that fitting again takes seconds: delete it when the model or the engine
changes. It needs no torch.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora.answer_questions import (
    AnswerQuestion,
    File,
    articles,
    as_html_table,
    document,
    half,
    halves,
    language_questions,
    statement_files,
    statement_questions,
    statements,
)
from corpora.judging import NotingEvaluator, is_right
from corpora.libraries import indexed, library_of
from corpora.measures import Floats, calibration_error, fit_logistic
from corpora.pairs import Corpus, held_out
from corpora.papers import GROUPS, HELD_OUT, QUESTIONS
from corpora.places import parser_of
from corpora.rows import read_rows
from corpora.sources.stored import Row
from crag.analysis.questions.matching import comparable
from crag.core.config import AppConfig, Keys
from crag.core.protocols import RunRequest
from crag.core.strategies import strategy
from crag.core.trace import Trace
from crag.engine import Engine
from crag.evaluation.heads import ANSWER_FEATURES
from training.calibrate_short import write_layer
from training.vectors import remembered
from training.windows import LANGUAGES

EACH = 40
"""Questions with an answer, and without one, of an article."""
PAIRS, NATURAL, NEWER, TIMES = 170, 240, 150, 160
"""Questions of the open sets."""
SUMS = 2
"""Questions of a report whose answer must be worked out, which a quotation rarely holds."""
SECTIONS = 40
"""Titles of the passages that are one document: adding each by itself takes long."""
CAUTION = {"answers elsewhere": 0.4}
"""Log-odds taken from a layer: the questions of other languages are of one kind of text, and share its words."""
FOLDS = 5
PENALTIES = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0)
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a set with its accepted answers; `group` is the document that folds go by."""

    question: AnswerQuestion
    group: str


@dataclass(frozen=True, slots=True)
class FitRow:
    """What was read of one answer, and whether it is right; no `features`: none was given."""

    id: str
    kind: str
    group: str
    answerable: bool
    right: bool
    features: tuple[float, ...]


def main() -> None:
    given = arguments(__doc__)
    found = [row for row in read(given) if row.features]
    for name in given.only:
        fit_layer(name, [row for row in found if len(row.features) == len(ANSWER_FEATURES[name])])


def fit_layer(name: str, rows: Sequence[FitRow]) -> None:
    """Prints how well its probabilities fit, and writes it."""
    values = np.array([row.features for row in rows])
    right = np.array([float(row.right) for row in rows])
    folds = np.array([zlib.crc32(row.group.encode()) // 6 % FOLDS for row in rows])
    losses = {penalty: loss(cross_validated(values, right, folds, penalty), right) for penalty in PENALTIES}
    best = min(losses, key=lambda penalty: losses[penalty])
    print("log loss by penalty:", {penalty: round(value, 4) for penalty, value in losses.items()})
    chance = cross_validated(values, right, folds, best)
    for kind in ("", *dict.fromkeys(row.kind for row in rows)):
        of_kind = np.array([row.kind == (kind or row.kind) for row in rows])
        describe(kind or "all", chance[of_kind], right[of_kind])
    weights, bias = fit(values, right, best)
    rounded, bias = [round(float(weight), 6) for weight in weights], bias - CAUTION.get(name, 0.0)
    write_layer(name, {"features": list(ANSWER_FEATURES[name]), "weights": rounded, "bias": round(bias, 6)})


def arguments(doc: str | None) -> argparse.Namespace:
    """What a calibration that asks questions is given."""
    parser = parser_of(doc, "crag-answers-cache")
    parser.add_argument("--papers", type=Path, help="the folder of the groups of benchmarks.papers")
    parser.add_argument("--keep", type=Path, help="keeps what was read; delete it when the model or the engine changes")
    parser.add_argument("--only", nargs="+", choices=list(ANSWER_FEATURES), default=list(ANSWER_FEATURES))
    return parser.parse_args()


def fit(values: Floats, right: Floats, penalty: float) -> tuple[Floats, float]:
    """Weights and bias; the penalty is on weights of features of one spread, so that none is favoured."""
    spread = values.std(axis=0)
    spread[spread == 0.0] = np.inf  # a feature that never differs gets no weight
    ones = np.ones((len(values), 1))
    found = fit_logistic(np.hstack([(values - values.mean(axis=0)) / spread, ones]), right, penalty)
    weights = found[:-1] / spread
    return weights, float(found[-1] - weights @ values.mean(axis=0))


def cross_validated(values: Floats, right: Floats, folds: NDArray[np.int64], penalty: float) -> Floats:
    """The probability of each row by weights that were fitted on the other folds."""
    chance = np.zeros(len(right))
    for fold in range(FOLDS):
        own = folds == fold
        weights, bias = fit(values[~own], right[~own], penalty)
        chance[own] = 1 / (1 + np.exp(-(values[own] @ weights + bias)))
    return chance


def loss(chance: Floats, right: Floats) -> float:
    held = np.clip(chance, 1e-6, 1 - 1e-6)
    return float(-(right * np.log(held) + (1 - right) * np.log(1 - held)).mean())


def describe(kind: str, chance: Floats, right: Floats) -> None:
    """Prints how well the probabilities fit, and what is right from which on."""
    error = calibration_error(right, chance)
    print(f"{kind:20} {len(right)} answers, right {right.mean():.2f}, calibration error {error:.3f}")
    for least in (0.3, 0.5, 0.7, 0.8):
        over = chance >= least
        share = right[over].mean() if over.any() else 0.0
        print(f"  from {least:.1f}: {over.mean():.2f} given, {share:.2f} of them right")


def read(given: argparse.Namespace) -> Iterator[FitRow]:
    """One row a question. What --keep holds is not asked again."""
    keep, known = given.keep, dict[str, FitRow]()
    if keep and keep.is_file():
        kept = (FitRow(**json.loads(line)) for line in keep.read_text(encoding="utf-8").splitlines())
        known = {row.id: row for row in kept}
    evaluator = NotingEvaluator()
    engine = Engine(AppConfig(), Keys(), evaluator=evaluator)
    settings = strategy("balanced").settings.changed(verify=False)
    for library, questions in libraries(engine, given, given.only):
        for asked in questions:
            question = asked.question
            if question.id not in known:
                evaluator.noted = ()
                request = RunRequest(
                    question.question, workspace=library, settings=settings.changed(where=question.where)
                )
                trace = Trace.from_events(engine.ask(request))
                assert trace.answer is not None, trace.failure
                right = is_right(trace.answer, question)
                row = FitRow(question.id, question.kind, asked.group, question.answerable, right, evaluator.noted)
                known[question.id] = row
                if keep:
                    with keep.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(asdict(row)) + "\n")
                if len(known) % 50 == 0:
                    print(f"  {question.kind}: {len(known)}", file=sys.stderr)
            yield known[question.id]
    engine.close()


def libraries(
    engine: Engine, given: argparse.Namespace, layers: Sequence[str] = ("answers",)
) -> Iterator[tuple[Path, list[Asked]]]:
    """Each library, and what is asked of its documents, for these layers."""
    corpus = Corpus(given.data, remembered)
    for name in LANGUAGES if "answers elsewhere" in layers else ():
        files, asked = language_questions(given.data, name, "train")
        yield library_of(engine, files, given.cache), [Asked(question, article) for question, article in asked]
    if "answers" not in layers:
        return
    for files, asked in (prose(given.data), reports(given.data), tables(corpus), passages(given.data, corpus)):
        yield library_of(engine, files, given.cache), asked
    if given.papers:
        yield from papers(engine, given)


def papers(engine: Engine, given: argparse.Namespace) -> Iterator[tuple[Path, list[Asked]]]:
    """Questions of invoices, reports, policies and other papers, each group a library of its own."""
    rows = read_rows(QUESTIONS)
    for group in (each for each in GROUPS if each not in HELD_OUT):
        found = list[Asked]()
        for place, row in enumerate(row for row in rows if row["group"] == group):
            answers = tuple(filter(None, row["answer"].split(" | ")))
            found += ask(f"{group}-{place}", "papers", row["question"], answers, group)
        yield indexed(engine, sorted((given.papers / group).glob("*.pdf")), given.cache), found


def prose(data: Path) -> tuple[list[File], list[Asked]]:
    """Questions of the articles that may choose, each asked of its own article."""
    dice, files, found = random.Random(36), list[File](), list[Asked]()
    parts = halves([article["title"] for article in articles(data)])
    for article in articles(data):
        if parts[article["title"]] != "choose":
            continue
        name = article["title"].replace("_", " ")
        asked = [qa for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
        files.append(document(name, [paragraph["context"] for paragraph in article["paragraphs"]]))
        for absent in (False, True):
            own = [qa for qa in asked if bool(qa.get("is_impossible")) is absent and (absent or qa["answers"])]
            for qa in dice.sample(own, min(EACH, len(own))):
                answers = () if absent else tuple(dict.fromkeys(each["text"] for each in qa["answers"]))
                found += ask(f"prose-{qa['id']}", "prose", qa["question"], answers, name, f'name = "{name}.md"')
    return files, found


def reports(data: Path) -> tuple[list[File], list[Asked]]:
    """Questions of rebuilt annual reports that may choose, of years and reports that they are not about; and sums."""
    found, dice = statements(data), random.Random(38)
    own = [each for each in found if half(each.passages[0]) == "choose"]
    group = {f'name = "{each.name}"': each.passages[0] for each in own}
    asked = [
        Asked(question, group[question.where])
        for question in statement_questions(found, most=8)
        if question.where in group
    ]
    for each in own:
        sums = [row for row in each.rows if row["answer_type"] in {"arithmetic", "count"}]
        for row in dice.sample(sums, min(SUMS, len(sums))):
            answers, where = tuple(map(str, row["answers"])), f'name = "{each.name}"'
            asked += ask(f"sums-{row['id']}", "sums", row["question"], answers, each.passages[0], where)
    return list(statement_files(own)), asked


def tables(corpus: Corpus) -> tuple[list[File], list[Asked]]:
    """Questions of tables of airlines' annual reports, each asked of its table; and of a year that it does not have."""
    files, found = dict[str, bytes](), list[Asked]()
    for row, (name, body), other in asked_tables(corpus):
        files[name], where = body, f'name = "{name}"'
        found += ask(row.id, "tables", row.question, row.answers, row.group, where)
        if other:
            found += ask(f"{row.id}-period", "tables", other, (), row.group, where)
    return list(files.items()), found


def asked_tables(corpus: Corpus) -> Iterator[tuple[Row, File, str]]:
    """AIT-QA's questions, each with its table as a page, and the question of a year that the table does not have."""
    for row in apart(corpus, "aitqa"):
        table = next(each.text for each in row.passages if each.label)
        name = f"Table {hashlib.sha256(table.encode()).hexdigest()[:8]}"
        page = f"<html><head><title>{name}</title></head><body>\n{as_html_table(table)}\n</body></html>"
        year = next(str(year) for year in range(2011, 2000, -1) if str(year) not in table)
        years = set(_YEAR.findall(row.question))
        yield row, (f"{name}.html", page.encode()), _YEAR.sub(year, row.question) if len(years) == 1 else ""


def passages(data: Path, corpus: Corpus) -> tuple[list[File], list[Asked]]:
    """Questions asked of many documents at once; of a part the passage that answers is not there."""
    dice, texts, found = random.Random(37), dict[str, dict[str, None]](), list[Asked]()

    def add(title: str, text: str) -> None:
        texts.setdefault(title, {})[text] = None

    pairs = [row for row in apart(corpus, "squad_unansq") if row.answers and row.more.get("other")]
    for row in dice.sample(pairs, min(PAIRS, len(pairs))):
        text = row.passages[0].text
        add(f"Note {zlib.crc32(text.encode())}", text)
        found += ask(f"{row.id}", "pairs", row.question, row.answers, row.group)
        found += ask(f"{row.id}-other", "pairs", row.more["other"], (), row.group)
    for name, most in (("squadshifts_newwiki", NEWER), ("tsqa_human", TIMES)):
        rows = apart(corpus, name)
        for row in dice.sample(rows, min(most, len(rows))):
            for each in row.passages:
                add(each.title, each.text)
            found += ask(f"{name}-{row.id}", name, row.question, row.answers, row.group)
    natural = read_rows(data / "nq/train.jsonl")
    own = [row for row in natural if held_out(corpus.group(row["ctxs"][0]["title"]))]
    for place, row in enumerate(dice.sample(own, min(NATURAL, len(own)))):
        passage = row["ctxs"][0]
        absent = place % 3 == 0
        if not absent:
            add(passage["title"], passage["text"])
        answers = () if absent else tuple(row["answers"])
        found += ask(f"nq-{place}", "nq", row["question"], answers, corpus.group(passage["title"]))
    for row in dice.sample(natural, 500):
        if row not in own:
            add(row["ctxs"][0]["title"], row["ctxs"][0]["text"])
    titles = sorted(texts)
    volumes = [titles[first : first + SECTIONS] for first in range(0, len(titles), SECTIONS)]
    return [volume(f"Volume {place}", {t: list(texts[t]) for t in each}) for place, each in enumerate(volumes)], found


def apart(corpus: Corpus, name: str) -> list[Row]:
    """The rows of a set that no weight was fitted on, nor is reported on."""
    reported = {
        corpus.group(title.replace("_", " "))
        for title, part in halves([a["title"] for a in articles(corpus.data)]).items()
        if part == "report"
    }
    return [row for row in corpus.sources.rows[name] if held_out(row.group) and row.group not in reported]


def ask(id: str, kind: str, question: str, answers: Sequence[str], group: str, where: str = "") -> Iterator[Asked]:
    """The question, unless no given answer can be compared with the accepted ones."""
    if answers and not comparable(answers):
        return
    yield Asked(AnswerQuestion(id, kind, "choose", question.strip(), tuple(answers), where=where), group)


def volume(title: str, sections: Mapping[str, Sequence[str]]) -> File:
    """One document with a section for each title."""
    parts = (f"## {name}\n\n" + "\n\n".join(text.strip() for text in each) for name, each in sections.items())
    body = "\n\n".join(parts)
    return f"{title}.md", f"# {title}\n\n{body}\n".encode()


if __name__ == "__main__":
    main()
