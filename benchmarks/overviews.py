"""Questions about whole documents, answered without a language model: are they told from others, and of use?

    python -m benchmarks.overviews [--answers FILE]

An answer is of use by the rule of this page where the question is taken for one about the whole document, the answer
has each fact that was written down for it from the document (its title, its pages, its people, the items and how many
there are), and cites a place. The questions and facts are in data/overviews.json, and so are forms of questions in four
languages that the layer was not fitted on. Ordinary questions are those of test sets and of sets that nothing is fitted
on, once as they are, and once with two of their words taken for the document's name. `--answers` writes each answer to
a file, to be read. Writes results/overviews.json and results/overviews.md.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages import parse, publish
from corpora.places import DATA
from corpora.rows import read_rows
from crag.core.config import AppConfig
from crag.core.types import Document
from crag.generation.overview import Outline, Overview, write_overview
from crag.generation.whole_questions import NAME, PART, roots_of, tokens_of, wanted_by
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from crag.text.words import words

HERE = Path(__file__).resolve().parent
SLOTS = {"part": PART, "name": NAME, "num": "§number"}
EACH = 300


def ordinary() -> Iterator[tuple[str, list[str]]]:
    """The ordinary questions of each set."""
    for name in ("squad/v1_test.json", "squad/v2_test.json", "xquad/de_test.json.gz", "xquad/es_test.json.gz"):
        raw = (DATA / name).read_bytes()
        found = json.loads(gzip.decompress(raw) if name.endswith("gz") else raw)
        articles = found["data"] if isinstance(found, dict) else found
        yield name, [asked["question"] for each in articles for text in each["paragraphs"] for asked in text["qas"]]
    for name, key in (("nq/test", "question"), ("popqa/test", "question"), ("clapnq/answerable", "input")):
        yield name, [row[key] for row in read_rows(DATA / f"{name}.jsonl")]
    for name in ("financebench", "mmlongbench"):
        yield name, [row["question"] for row in read_rows(DATA / name / "questions.jsonl")]


def taken(questions: Sequence[str], *, named: bool = False) -> list[str]:
    """Those that are taken for questions about a whole document."""
    return [each for each in questions if wanted_by(tokens_of(each, sorted(roots_of(each))[:2] if named else ()))]


def missed(forms: dict[str, list[str]]) -> list[str]:
    """The forms that are taken for ordinary questions."""
    found = []
    for form in (each for several in forms.values() for each in several):
        marked = form.format(**{slot: f" zq{slot} " for slot in SLOTS})
        names = [word for word in words(marked) if word == "zqname"]
        tokens = [
            SLOTS.get(word.removeprefix("zq"), token)
            for word, token in zip(words(marked), tokens_of(marked, names), strict=True)
        ]
        found += [] if wanted_by(tokens) else [form]
    return found


def outline_of(source: dict[str, Any]) -> Outline:
    """A document of the set, read as a library reads it."""
    name = Path(source["file"]).name
    data = source["text"].encode() if "text" in source else (DATA / source["file"]).read_bytes()
    parsed, id = read_document(data, name, AppConfig()), hashlib.sha256(data).hexdigest()
    document = Document(
        id=id, name=name, title=parsed.title, size=len(data), pages=len(parsed.pages), chunks=0, added_at="", model="",
        kind=parsed.kind, properties=parsed.properties,
    )  # fmt: skip
    return Outline(document, chunk_document(parsed, id, name))


def answer(outline: Outline, question: str) -> Overview | None:
    """The answer where this is the only document."""
    names = roots_of(f"{outline.document.name} {outline.document.title}")
    wanted = wanted_by(tokens_of(question, names, [part.roots for part in outline.parts]))
    number = next((int(word) for word in words(question) if word.isdigit()), 0)
    return write_overview(wanted, [outline], roots_of(question), number, several=False) if wanted else None


def lacking(made: Overview | None, facts: Sequence[str]) -> list[str]:
    """The facts that an answer has not; of alternatives, one is enough."""
    said = made.text.casefold() if made and made.cited else ""
    return [fact for fact in facts if not any(each.casefold() in said for each in fact.split("|"))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=Path)
    options = parse(parser)
    given, said = json.loads((HERE / "data" / "overviews.json").read_text("utf-8")), list[str]()
    rows = [
        (name, len(sample := questions[:: max(1, len(questions) // EACH)]), taken(sample), taken(sample, named=True))
        for name, questions in ordinary()
    ]
    lost, forms = missed(given["forms"]), sum(map(len, given["forms"].values()))
    useful, page = [], ["# Questions about whole documents", "", __doc__.split("\n\n")[2].replace("\n", " "), ""]
    page += ["| ordinary questions of | asked | taken for overviews | with a name in them |", "|---|---|---|---|"]
    page += [f"| {name} | {asked} | {len(one)} | {len(two)} |" for name, asked, one, two in rows]
    total = sum(asked for _, asked, *_ in rows)
    shares = [sum(len(row[at]) for row in rows) / total for at in (2, 3)]
    page += [f"| all | {total:,} | {shares[0]:.1%} | {shares[1]:.1%} |", ""]
    page += [f"Of {forms} forms that nothing was fitted on, {len(lost)} are taken for ordinary: {'; '.join(lost)}.", ""]
    page += ["| document | asked | of use | what is missing |", "|---|---|---|---|"]
    for source in given["documents"]:
        outline, misses = outline_of(source), []
        for question, facts in source["ask"]:
            made = answer(outline, question)
            missing = lacking(made, facts)
            useful.append(not missing)
            misses += [f"{question} {'(ordinary)' if made is None else '; '.join(missing)}"] if missing else []
            said.append(f"### {source['file']}: {question}\n{made.text if made else '-'}\n")
        asked = len(source["ask"])
        page.append(f"| {Path(source['file']).name} | {asked} | {asked - len(misses)} | {' · '.join(misses)} |")
    page += ["", f"**{sum(useful)} of {len(useful)} answers are of use ({sum(useful) / len(useful):.2f}).**"]
    figures = {"ordinary taken": shares, "forms lost": len(lost) / forms, "of use": sum(useful) / len(useful)}
    publish("overviews", "\n".join(page), figures, folder=options.folder)
    if options.answers:
        options.answers.write_text("\n".join(said), encoding="utf-8")


if __name__ == "__main__":
    main()
