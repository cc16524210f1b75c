"""Questions with known answers for benchmarks.answers, and the documents that they are asked of.

Five kinds. prose: paragraphs of encyclopedia articles, with questions that their own paragraph does not answer.
filings: questions of analysts about annual and quarterly reports. reports: questions about other long documents, but
those that need a picture. statements: tables of annual reports with their paragraphs, each rebuilt as a document.
Near misses of the last three are made by rule: a fact, a period or another company that the documents do not have.
Every document belongs to one half: "choose" may choose settings and fit weights, "report" is only reported.
"""

from __future__ import annotations

import gzip
import html
import json
import random
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from corpora.pairs import Corpus, held_out
from corpora.published_sets import read_published, read_xquad
from corpora.rows import read_articles, read_rows
from crag.analysis.metrics.metrics import name_of
from crag.analysis.questions.matching import comparable, content_stems, holds
from crag.analysis.questions.sets import Question
from crag.engine import Engine

Part = Literal["choose", "report"]
File = tuple[str, bytes]

PICTURES = re.compile(r"chart|figure|color|colour|picture|image|plotted|pages? \d", re.IGNORECASE)
ARTICLE_QUESTIONS, ARTICLE_ABSENT = 28, 40
"""Questions of one article: with an answer, and without one."""
STATEMENTS, STATEMENT_QUESTIONS = 70, 2
"""Rebuilt reports, and how many questions of each are asked."""
SEED = 35
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

PRESENT = 0.6
"""The share of an article's paragraphs in another language that are in the library."""
OTHER, EACH_TESTED, ENGLISH = 50, 3, 5
"""Questions of another language to fit on; those of a paragraph to report; of how many one is asked in English."""

ABSENT = (
    ("How much did {company} spend on solar panels in {year}?", r"solar"),
    ("How many vending machines did {company} operate at the end of {year}?", r"vending machine"),
    ("How many patents did {company} hold at the end of {year}?", r"\d\s(?:\w+\s){0,3}patents|number of patents"),
    ("What was {company}'s revenue from cloud storage subscriptions in {year}?", r"cloud storage"),
    ("How many electric trucks did {company} own in {year}?", r"electric (?:truck|vehicle|van)"),
    ("How much Bitcoin did {company} hold at the end of {year}?", r"bitcoin|crypto"),
    ("What did {company} pay for stadium naming rights in {year}?", r"naming rights"),
    ("How many interns did {company} hire in {year}?", r"\binterns?\b"),
    ("What was {company}'s income from carbon credits in {year}?", r"carbon credit"),
    ("How many coffee shops did {company} run in {year}?", r"coffee shop"),
    ("What were {company}'s net sales in Portugal in {year}?", r"portugal"),
    ("Who was {company}'s chief sustainability officer in {year}?", r"sustainability officer"),
    ("How many lawsuits about wheelchair access did {company} settle in {year}?", r"wheelchair"),
    ("What was the average age of {company}'s employees in {year}?", r"average age|median age"),
    ("How much did {company} pay its chess club in {year}?", r"chess"),
    ("How many podcasts did {company} publish in {year}?", r"podcast"),
)
"""Facts that hardly a filing has, each with the words that would show that it has."""
FACTS = (
    "What was {company}'s net income in fiscal {year}?",
    "What were {company}'s total assets at the end of fiscal {year}?",
    "How many employees did {company} have at the end of {year}?",
    "What were {company}'s capital expenditures in {year}?",
)
"""Facts that every annual report has, of periods and companies that these do not."""
OTHERS = ("Walgreens", "Netflix", "Caterpillar", "Starbucks", "Verizon", "Delta Air Lines", "Honeywell", "Chevron")
COMPANIES = {
    "ACTIVISIONBLIZZARD": "Activision Blizzard",
    "AMAZON": "Amazon",
    "BOEING": "Boeing",
    "COSTCO": "Costco",
    "FOOTLOCKER": "Foot Locker",
    "GENERALMILLS": "General Mills",
    "JOHNSON": "Johnson & Johnson",
    "LOCKHEEDMARTIN": "Lockheed Martin",
    "NIKE": "Nike",
    "PEPSICO": "PepsiCo",
    "PFIZER": "Pfizer",
    "ULTABEAUTY": "Ulta Beauty",
}


@dataclass(frozen=True, slots=True)
class AnswerQuestion:
    """A question of a kind, asked of the documents that meet `where`. No `answers`: the documents do not hold one."""

    id: str
    kind: str
    part: Part
    question: str
    answers: tuple[str, ...] = ()
    pages: tuple[int, ...] = ()
    where: str = ""
    miss: str = ""

    @property
    def answerable(self) -> bool:
        return bool(self.answers)


def half(document: str) -> Part:
    """Which half a document, article or company belongs to."""
    return "choose" if zlib.crc32(document.encode()) // 7 % 2 else "report"


def part_of(source: str) -> Part:
    """The half that a document belongs to, by the first part of its name, which is a company's."""
    return half(name_of(source).split("_")[0])


# Prose


def articles(data: Path) -> list[dict[str, Any]]:
    """The articles that no weight was fitted on, the one with unanswerable questions where there are two forms."""
    found: dict[str, dict[str, Any]] = {}
    for form in ("v1_train", "v2_train"):
        for article in read_articles(data, form):
            found[article["title"]] = article
    with gzip.open(data / "train/squad_train_part.json.gz", "rt", encoding="utf-8") as file:
        for article in json.load(file)["data"]:
            found.setdefault(article["title"], article)
    return [article for title, article in sorted(found.items()) if held_out(title)]


def prose_files(data: Path) -> Iterator[File]:
    for article in articles(data):
        title = article["title"].replace("_", " ")
        text = "\n\n".join(paragraph["context"].strip() for paragraph in article["paragraphs"])
        yield f"{title}.md", f"# {title}\n\n{text}\n".encode()


def prose_questions(data: Path) -> Iterator[AnswerQuestion]:
    """Questions of each article, asked of that article: few of them name their subject."""
    dice = random.Random(SEED)
    parts = halves([article["title"] for article in articles(data)])
    for article in articles(data):
        asked = [qa for paragraph in article["paragraphs"] for qa in paragraph["qas"]]
        known = [qa for qa in asked if not qa.get("is_impossible") and qa["answers"]]
        absent = [qa for qa in asked if qa.get("is_impossible")]
        chosen = dice.sample(known, min(ARTICLE_QUESTIONS, len(known)))
        chosen += dice.sample(absent, min(ARTICLE_ABSENT, len(absent)))
        name = article["title"].replace("_", " ")
        for qa in chosen:
            answers = () if qa.get("is_impossible") else tuple(dict.fromkeys(each["text"] for each in qa["answers"]))
            if answers and not comparable(answers):
                continue
            miss = "" if answers else "same paragraph"
            yield AnswerQuestion(
                f"prose-{qa['id']}",
                "prose",
                parts[article["title"]],
                qa["question"].strip(),
                answers,
                where=f'name = "{name}.md"',
                miss=miss,
            )


def halves(names: Iterable[str]) -> dict[str, Part]:
    """Few documents, dealt to the halves in turn."""
    return {name: ("choose", "report")[place % 2] for place, name in enumerate(sorted(names))}  # type: ignore[misc]


# Statements: tables of annual reports


@dataclass(frozen=True, slots=True)
class Statement:
    """A table of an annual report with the paragraphs around it, and what was asked of it."""

    name: str
    passages: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]

    @property
    def text(self) -> str:
        return "\n".join(self.passages)


def statements(data: Path, most: int = STATEMENTS, *, fitted_on: bool = False) -> list[Statement]:
    """The rebuilt documents of TAT-QA, `most` of them: those that no weight was fitted on, or with `fitted_on` all."""
    rows = {row["id"]: row for row in read_rows(data / "train/tatqa.jsonl.gz")}
    known = Corpus(data, _no_vectors).sources.rows["tatqa"]
    apart = rows.keys() if fitted_on else {row.id for row in known if held_out(row.group)}
    by_table: dict[str, list[Mapping[str, Any]]] = {}
    for id, row in rows.items():
        table = next((each["text"] for each in row["passages"] if _own(each) and each["title"] == "table"), "")
        if table and id in apart:
            by_table.setdefault(table, []).append(row)
    found = []
    for number, (table, asked) in enumerate(list(by_table.items())[:most], start=1):
        texts = [each["text"] for row in asked for each in row["passages"] if _own(each) and each["title"] != "table"]
        found.append(Statement(f"Report {number:03}.html", (table, *dict.fromkeys(texts)), tuple(asked)))
    return found


def _own(passage: Mapping[str, Any]) -> bool:
    return passage["kind"] in {"gold", "distractor"}


def _no_vectors(texts: Sequence[str]) -> Any:
    raise RuntimeError("The split needs no vectors.")


def statement_files(found: Sequence[Statement], *, whole: bool = False) -> Iterator[File]:
    """`whole`: the table stands below the paragraphs, where the reader keeps it, and has one row of names."""
    for each in found:
        body = "".join(f"<p>{html.escape(text)}</p>\n" for text in each.passages[1:])
        table = as_html_table(each.passages[0], one_header=whole)
        title = each.name.removesuffix(".html")
        parts = f"{body}{table}\n" if whole else f"{table}\n{body}"
        page = f"<html><head><title>{title}</title></head><body>\n{parts}</body></html>"
        yield each.name, page.encode()


def as_html_table(text: str, *, one_header: bool = False) -> str:
    """The table with its first rows as headers, up to the first whose label has a value that is no year."""
    heads, rows = list[list[str]](), list[list[str]]()
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.split("|")]
        own = bool(cells[0]) and any(re.search(r"\d", _YEAR.sub("", cell)) for cell in cells[1:])
        (rows if rows or own else heads).append(cells)
    if one_header and heads:
        for cells in heads:
            said = [cell for cell in cells if cell]
            if len(said) == 1 and len(cells) > 2 and not _YEAR.fullmatch(said[0]):  # it stood above all columns
                cells[:] = [said[0], *("" for _ in cells[1:])]
        heads = [[" ".join(filter(None, column)) for column in zip_longest(*heads, fillvalue="")]]
    lines = [
        "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"
        for tag, part in (("th", heads), ("td", rows))
        for cells in part
    ]
    return "<table>\n" + "\n".join(lines) + "\n</table>"


def statement_questions(found: Sequence[Statement], most: int = STATEMENT_QUESTIONS) -> Iterator[AnswerQuestion]:
    """Questions whose answer stands in the table or text; the same of a year, or of a report, that has no answer.

    At most `most` questions of a report are taken.
    """
    dice = random.Random(SEED)
    for place, each in enumerate(found):
        part, where = half(each.passages[0]), f'name = "{each.name}"'
        asked = [row for row in each.rows if row["answer_type"] == "span" and comparable(row["answers"])]
        for row in dice.sample(asked, min(most, len(asked))):
            question = AnswerQuestion(
                f"statements-{row['id']}", "statements", part, row["question"], tuple(row["answers"]), where=where
            )
            yield question
            years = set(_YEAR.findall(row["question"]))
            other = next(str(year) for year in range(2011, 2000, -1) if str(year) not in each.text)
            if len(years) == 1:
                yield replace(
                    question,
                    id=f"{question.id}-period",
                    question=_YEAR.sub(other, row["question"]),
                    answers=(),
                    miss="other period",
                )
        if stranger := _foreign(each, [*found[place + 1 :], *found[:place]]):
            yield AnswerQuestion(
                f"statements-{stranger['id']}-{each.name[7:10]}",
                "statements",
                part,
                stranger["question"],
                where=where,
                miss="other report",
            )


def _foreign(own: Statement, others: Iterable[Statement]) -> Mapping[str, Any] | None:
    """The first question about another report of which this one has neither the answer nor half of the words."""
    said = content_stems(own.text)
    for other in others:
        for row in other.rows:
            wanted = content_stems(_YEAR.sub(" ", row["question"]))
            if len(wanted) > 2 and len(wanted & said) < len(wanted) / 2 and not holds(own.text, row["answers"]):
                return row
    return None


# Filings and other reports


def filing_questions(engine: Engine, library: Path, data: Path) -> Iterator[AnswerQuestion]:
    """The questions of FinanceBench, and near misses about its companies."""
    for each in _read(data / "financebench/questions.jsonl"):
        if comparable(each.answers):
            company = _company(each.sources[0])
            yield AnswerQuestion(
                f"filings-{each.id}", "filings", half(company), each.question, each.answers, each.pages
            )
    texts: dict[str, str] = {}
    years: dict[str, str] = {}
    documents = engine.library(library).documents
    for document in documents.all():
        company = _company(document.name)
        chunks = documents.chunks(document.id, lines=False)
        texts[company] = texts.get(company, "") + "\n".join(chunk.text for chunk in chunks).casefold()
        years[company] = max([*_YEAR.findall(document.name)[:1], years.get(company, "")])
    for place, (company, text) in enumerate(sorted(texts.items())):
        for number, (form, shown) in enumerate(ABSENT):
            if (number + place) % 2 and not re.search(shown, text):
                yield _near_miss(company, f"fact-{number}", form, years[company], "absent fact")
        early = [str(year) for year in range(2003, 2014) if str(year) not in text] or ["1998"]
        for number, form in enumerate(FACTS):
            yield _near_miss(company, f"period-{number}", form, early[number % len(early)], "other period")
    whole = "\n".join(texts.values())
    for place, company in enumerate(name for name in OTHERS if name.casefold() not in whole):
        yield _near_miss(company, "company", FACTS[place % len(FACTS)], "2021", "other company")


def company_names(data: Path) -> dict[str, str]:
    """How FinanceBench's filings are spoken of: company and year, by file name."""
    found = {}
    for row in read_rows(data / "financebench/questions.jsonl"):
        year = _YEAR.search(row["doc_name"].replace("_", " "))
        found[f"{row['doc_name']}.pdf"] = f"{row['company']} {year[0]}" if year else row["company"]
    return found


def _near_miss(company: str, name: str, form: str, year: str, miss: str) -> AnswerQuestion:
    asked = form.format(company=company, year=year)
    return AnswerQuestion(f"filings-{company}-{name}", "filings", half(company), asked, miss=miss)


def _company(file: str) -> str:
    return COMPANIES[file.split("_")[0].upper().removesuffix(".PDF")]


def report_questions(data: Path) -> Iterator[AnswerQuestion]:
    """The questions of MMLongBench that text answers, or nothing does, each asked of its own document."""
    raw = read_rows(data / "mmlongbench/questions.jsonl")
    parts = halves({each.sources[0] for each in _read(data / "mmlongbench/questions.jsonl")})
    for each, row in zip(_read(data / "mmlongbench/questions.jsonl"), raw, strict=True):
        if re.search("Chart|Figure", row["evidence_sources"]) or PICTURES.search(each.question):
            continue
        absent = "Not answerable" in each.answers
        if not absent and (row["answer_format"] == "List" or not comparable(each.answers)):
            continue
        yield AnswerQuestion(
            f"reports-{each.id}",
            "reports",
            parts[each.sources[0]],
            each.question,
            () if absent else each.answers,
            each.pages,
            where=f'name = "{each.sources[0]}"',
            miss="absent fact" if absent else "",
        )


def _read(path: Path) -> tuple[Question, ...]:
    return read_published(path).questions


def language_questions(
    data: Path, language: str, part: Literal["train", "test"]
) -> tuple[list[File], list[tuple[AnswerQuestion, str]]]:
    """Articles of XQuAD in one of its languages, and questions of a part of them, each with the name of its article.

    The last paragraphs of an article are not in the library, so that their questions have no answer. Those of the train
    part are a sample, one a paragraph at most, of the test part the first three. Some are put in English too, as
    "crossing".
    """
    dice, files, found = random.Random(39), list[File](), list[tuple[AnswerQuestion, str]]()
    both = [(name, article) for name in dict.fromkeys(("train", part)) for article in read_xquad(data, language, name)]
    for place, (name, article) in enumerate(both):
        texts = article["paragraphs"][: round(PRESENT * len(article["paragraphs"]))]
        files.append(document(f"{language} {place}", [paragraph["context"] for paragraph in texts]))
        for paragraph in article["paragraphs"] if name == part else ():
            for qa in [dice.choice(paragraph["qas"])] if part == "train" else paragraph["qas"][:EACH_TESTED]:
                answers = tuple(each["text"] for each in qa["answers"]) if paragraph in texts else ()
                asked = AnswerQuestion(f"{language}-{qa['id']}", language, "choose", qa["question"].strip(), answers)
                found.append((asked, f"xquad {place}"))
    found = [each for each in found if not each[0].answers or comparable(each[0].answers)]
    found = dice.sample(found, OTHER) if part == "train" else found
    whole = (paragraph for article in read_xquad(data, "en", part) for paragraph in article["paragraphs"])
    english = {f"{language}-{qa['id']}": qa["question"] for paragraph in whole for qa in paragraph["qas"]}
    crossed = [
        (replace(asked, id=f"{asked.id}-en", kind="crossing", question=english[asked.id]), article)
        for asked, article in found[::ENGLISH]
        if language != "en"
    ]
    return files, found + crossed


def document(title: str, paragraphs: Iterable[str]) -> File:
    """A Markdown file of paragraphs under a title, which is its name too."""
    name = re.sub(r"[^\w .-]", "", title).strip()[:80] or "Untitled"
    body = "\n\n".join(text.strip() for text in paragraphs)
    return f"{name}.md", f"# {title}\n\n{body}\n".encode()
