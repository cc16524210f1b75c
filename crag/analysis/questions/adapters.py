"""Published question sets in the project's own words: SQuAD-like, PopQA-like and FinanceBench-like records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from crag.analysis.questions.values import MOST_VALUES, VALUE_CHARS, texts_in

UNANSWERABLE = "unanswerable"
"""The label of a question to which the expected source gives no answer."""
PUBLISHED = frozenset({"evidence", "possible_answers", "s_wiki_title", "financebench_id"})
"""Columns that only published sets have."""


def adapt_record(record: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name of the set that a record looks like, and the record with this project's keys; "" and itself otherwise.

    Decided by what the record holds, never by a file's name. Raises ValueError with the reason in words where a
    record of a known shape is not whole.
    """
    if "doc_name" in record and _has_pages(record.get("evidence")):
        return "FinanceBench", _financebench(record)
    if isinstance(record.get("answers"), Mapping) and "text" in record["answers"]:
        return "SQuAD", _flat_squad(record)
    if "possible_answers" in record or ("s_wiki_title" in record and "answers" in record):
        return "PopQA", _popqa(record)
    return "", record


def _has_pages(evidence: object) -> bool:
    """Whether it is FinanceBench's list: objects, some with a page number."""
    if not isinstance(evidence, list) or not all(isinstance(each, Mapping) for each in evidence):
        return False
    return any("evidence_page_num" in each for each in evidence)


def _financebench(record: Mapping[str, Any]) -> dict[str, Any]:
    """Evidence pages, which FinanceBench counts from 0, counted from 1; each with its document where several are."""
    if len(record["evidence"]) > MOST_VALUES:
        raise ValueError(f"it has over {MOST_VALUES:,} pieces of evidence")
    own = _pdf(record["doc_name"])
    places: dict[tuple[str, int], None] = {}
    for each in record["evidence"]:
        number, name = each.get("evidence_page_num"), each.get("doc_name") or each.get("evidence_doc_name")
        if type(number) is not int or number < 0:
            raise ValueError("an evidence_page_num is no page number: FinanceBench counts them from 0")
        places[_pdf(name) if name else own, number + 1] = None
    names = [name for name, _ in places]
    return {
        "id": record.get("financebench_id"),
        "question": record.get("question"),
        "answers": _as_list(record.get("answer")),
        "sources": names if len(set(names)) > 1 else names[:1],
        "pages": [page for _, page in places],
    }


def _pdf(name: object) -> str:
    """FinanceBench names documents without their ending. Raises ValueError for what is no name of a file."""
    if not isinstance(name, (str, int, float)):
        raise ValueError("a doc_name is no text")
    text = str(name).strip()
    if len(text) > VALUE_CHARS:
        raise ValueError(f"a doc_name has over {VALUE_CHARS:,} characters")
    return text if text.lower().endswith(".pdf") else f"{text}.pdf"


def _popqa(record: Mapping[str, Any]) -> dict[str, Any]:
    """The page about the subject is the expected source; the passages that some files carry are left out."""
    return {
        "id": record.get("id"),
        "question": record.get("question"),
        "answers": record.get("possible_answers") or record.get("answers"),
        "sources": _as_list(record.get("s_wiki_title") or record.get("title")),
    }


def _flat_squad(record: Mapping[str, Any]) -> dict[str, Any]:
    """SQuAD with one record for a question, as data set hubs serve it: no text means that there is no answer."""
    texts = _as_list(record["answers"]["text"])
    return {
        "id": record.get("id"),
        "question": record.get("question"),
        "answers": texts,
        "sources": _as_list(record.get("title")),
        "labels": [] if texts else [UNANSWERABLE],
    }


def _as_list(value: Any) -> list[Any]:
    """A list of what is there: itself, one value, or nothing."""
    if isinstance(value, list):
        return value
    return [] if value is None or value == "" else [value]


def squad_records(document: object) -> Iterator[Mapping[str, Any] | str] | None:
    """The questions of a nested SQuAD file, in its order, a reason in words for each that is not whole.

    None where the document has another shape. The article's title is the expected source; a question marked
    impossible has no answer, whatever plausible ones it carries.
    """
    if not isinstance(document, Mapping) or not isinstance(document.get("data"), list):
        return None
    articles = document["data"]
    if not any(isinstance(article, Mapping) and "paragraphs" in article for article in articles):
        return None
    return (record for article in articles for record in _article(article))


def _article(article: object) -> Iterator[Mapping[str, Any] | str]:
    if not isinstance(article, Mapping) or not isinstance(article.get("paragraphs"), list):
        yield "the article has no list of paragraphs"
        return
    titles = _titles(article.get("title"))
    for paragraph in article["paragraphs"]:
        if not isinstance(paragraph, Mapping) or not isinstance(paragraph.get("qas"), list):
            yield "it is a paragraph without a list of questions"
            continue
        for each in paragraph["qas"]:
            yield _nested_squad(each, titles) if isinstance(each, Mapping) else "it is no object"


def _nested_squad(asked: Mapping[str, Any], titles: list[Any]) -> Mapping[str, Any] | str:
    answers = asked.get("answers") or []
    if not isinstance(answers, list) or not all(isinstance(each, Mapping) and "text" in each for each in answers):
        return "its answers are no list of objects with a text"
    impossible = asked.get("is_impossible") is True
    return {
        "id": asked.get("id"),
        "question": asked.get("question"),
        "answers": [] if impossible else [each["text"] for each in answers],
        "sources": titles,
        "labels": [UNANSWERABLE] if impossible else [],
    }


def _titles(title: object) -> list[Any]:
    """An article's title as its questions share it, so that it is looked through once; what is no title as it is."""
    try:
        return list(texts_in(_as_list(title), bars=False))
    except ValueError:
        return _as_list(title)


def records_of(document: object) -> list[object]:
    """The entries of a list, or of an object's list under a usual name; else the document is the only one."""
    if isinstance(document, Mapping):
        lists = (document.get(key) for key in ("questions", "data", "examples"))
        document = next((found for found in lists if isinstance(found, list)), document)
    return document if isinstance(document, list) else [document]
