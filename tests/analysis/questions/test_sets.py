"""Question sets: what is read, what is named as bad, and that nothing good is lost."""

import codecs
import html
import json
import re

import pypdfium2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.analysis.metrics.metrics import on_web
from crag.analysis.questions.sets import MOST_QUESTIONS, UNANSWERABLE, Question, QuestionSet, read_set
from crag.core.errors import InputError
from crag.core.sample import FOLDER

TWO = "id,question,answer,source,page\na,Who?,Ann|Annie,r.pdf,4\nb,Where?,,r.pdf,\n"


def read(text: str, encoding: str = "utf-8") -> QuestionSet:
    return read_set("set", text.encode(encoding))


def problems(found: QuestionSet) -> list[tuple[int, str]]:
    return [(problem.row, problem.what) for problem in found.problems]


# ---- shapes --------------------------------------------------------------------------------------------------------


def test_a_table_is_read_and_says_what_it_took_for_what() -> None:
    found = read(TWO)
    assert found.questions == (
        Question("a", "Who?", ("Ann", "Annie"), ("r.pdf",), (4,)),
        Question("b", "Where?", (), ("r.pdf",)),
    )
    assert found.problems == ()
    assert found.kind == "CSV"
    assert dict(found.understood) == {
        **{"id": "id", "question": "question", "answers": "answer"},
        **{"sources": "source", "pages": "page"},
    }


@pytest.mark.parametrize(
    ("text", "kind"),
    [
(TWO.replace(",", ";"), "CSV"),
(TWO.replace("\n", "\r\n"), "CSV"),
("\n\n" + TWO, "CSV"),
('"ID",Query,"Expected Answer",Document, Pages\n' + TWO.split("\n", 1)[1], "CSV"),
('{"id": "a", "query": "Who?", "answers": ["Ann", "Annie"], "file": "r.pdf", "page": 4}\n\n'
         '{"id": "b", "question": "Where?", "source": ["r.pdf"], "pages": []}', "JSON Lines"),
('[{"id": "a", "question": "Who?", "answer": "[\\"Ann\\", \\"Annie\\"]", "file": "r.pdf", "page": "p. 4"},'
         '{"id": "b", "question": "Where?", "answer": null, "source": "r.pdf"}]', "JSON"),
('{"name": "mine", "questions": [{"id": "a", "question": "Who?", "answers": ["Ann", "Annie"], '
         '"file": "r.pdf", "page": [4]}, {"id": "b", "question": "Where?", "source": "r.pdf"}]}', "JSON"),
],
)  # fmt: skip
def test_every_shape_gives_the_same_questions(text: str, kind: str) -> None:
    found = read(text)
    assert found.questions == read(TWO).questions
    assert found.problems == ()
    assert found.kind == kind


@pytest.mark.parametrize(
    "data",
    [
        "question;answer\nWo ist Zürich?;da".encode("utf-16"),
        "question;answer\nWo ist Zürich?;da".encode("cp1252"),
        '[{"question": "Wo ist Zürich?", "answer": "da"}]'.encode("utf-16"),
    ],
)
def test_other_encodings_are_read(data: bytes) -> None:
    assert [(each.question, each.answers) for each in read_set("set", data).questions] == [("Wo ist Zürich?", ("da",))]


def test_a_row_with_bytes_that_are_no_text_is_named() -> None:
    rows = [b"question", "Genève?".encode("cp1252"), b"Br\x81ke?", b"Bern?"]
    found = read_set("set", b"\n".join(rows))
    assert [each.question for each in found.questions] == ["Genève?", "Bern?"]
    assert problems(found) == [(3, "its question holds bytes that are no text: save the file as UTF-8")]


@pytest.mark.parametrize(
    ("written", "pages"),
    [
        ("4", (4,)),
        ("4.0", (4,)),
        ("p. 4", (4,)),
        ("Pages 4-6; 9", (4, 5, 6, 9)),
        ("4|7", (4, 7)),
        ("[4, 7]", (4, 7)),
        ("4, 4", (4,)),
    ],
)
def test_pages_are_read_as_people_write_them(written: str, pages: tuple[int, ...]) -> None:
    found = read(f'question,page\nWho?,"{written}"')
    assert found.problems == ()
    assert found.questions[0].pages == pages


@pytest.mark.parametrize("written", ["0", "-3", "four", "9-4", "1-99999", "1e3", "4.5", "٤x"])
def test_what_is_no_page_is_named_and_the_rest_kept(written: str) -> None:
    found = read(f"question,page\nWho?,{written}\nWhere?,2")
    assert [each.question for each in found.questions] == ["Where?"]
    ((row, what),) = problems(found)
    assert row == 2
    assert what.startswith("pages: ")


def test_as_many_sources_as_pages_keep_their_order_and_else_each_is_once() -> None:
    paired = read("question,sources,pages\nWho?,a.pdf|a.pdf|b.pdf,9|4|4").questions[0]
    assert (paired.sources, paired.pages) == (("a.pdf", "a.pdf", "b.pdf"), (9, 4, 4))
    loose = read("question,sources,pages\nWho?,a.pdf|a.pdf,4|4|7").questions[0]
    assert (loose.sources, loose.pages) == (("a.pdf",), (4, 7))


def test_a_bar_parts_answers_in_a_table_and_is_a_letter_in_json() -> None:
    assert read("question,answer\nWhat?,a|b").questions[0].answers == ("a", "b")
    assert read('{"question": "What?", "answer": "a|b"}').questions[0].answers == ("a|b",)


def test_the_first_column_that_a_row_fills_is_taken() -> None:
    found = read('{"question": "A?", "query": "B?"}\n{"question": " ", "query": "C?"}')
    assert [each.question for each in found.questions] == ["A?", "C?"]
    assert set(found.understood) == {("question", "question"), ("question", "query")}


# ---- bad input -----------------------------------------------------------------------------------------------------


def test_each_bad_row_is_named_and_every_good_one_kept() -> None:
    rows = [
        "question,answer,page",
        "A?,ant,1",
        ",b,2",
        "C?,c,x",
        "D?,d,4,more",
        "E\x00?,e,5",
        "G?,g",
        "",
        "H?",
    ]
    found = read("\n".join(rows))
    assert [each.question for each in found.questions] == ["A?", "G?", "H?"]
    assert [each.id for each in found.questions] == ["row-2", "row-7", "row-9"]
    assert [row for row, _ in problems(found)] == [3, 4, 5, 6]
    for (_, what), words in zip(
        problems(found), ["no question", "no page number", "4 cells for 3 columns", "no text"], strict=True
    ):
        assert words in what
    assert str(found.problems[0]) == "Row 3: it has no question."


def test_an_open_quote_is_refused_for_it_would_take_every_row_below_it() -> None:
    with pytest.raises(InputError, match="up to line 3: its quotation marks do not match"):
        read('question,answer\n"A?,a\nB?,b')


def test_bad_lines_and_values_of_json_are_named() -> None:
    lines = [
        *('{"question": "A?"}', "{broken", "[1]", '{"question": 7, "id": true}', '{"question": {"a": 1}}'),
        *('{"question": "B?", "answers": [null]}', '{"question": "C\\ud800?"}', '{"question": "D?"}', "[" * 9000),
    ]
    found = read("\n".join(lines))
    assert [each.question for each in found.questions] == ["A?", "D?"]
    assert [row for row, _ in problems(found)] == [2, 3, 4, 5, 6, 7, 9]


def test_equal_ids_are_kept_under_new_ones_and_named() -> None:
    found = read("id,question\na,A?\na,B?\na-2,C?\na,D?\n,E?\nrow-6,F?\na-2,G?")
    ids = [each.id for each in found.questions]
    assert len(set(ids)) == len(ids) == 7
    assert (ids[0], ids[2], ids[5]) == ("a", "a-2", "row-6")
    assert [(problem.row, problem.kept) for problem in found.problems] == [(3, True), (5, True), (8, True)]
    assert ids[1] == "a-3"
    assert found.problems[0].what == "its id is used above, so it ends in -3 here"


@pytest.mark.parametrize("text", ["name,city\nAnn,Bern", '{"name": "Ann", "city": "Bern"}', '[{"name": 1, "city": 2}]'])
def test_a_set_without_a_question_column_says_what_to_do_and_repeats_nothing(text: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)
    assert "it has no question" in refused.value.message or "no question column" in refused.value.message
    assert not re.search("Ann|Bern|city", str(refused.value))
    assert "column of the first row question" in refused.value.remedy


@pytest.mark.parametrize(
    ("data", "words"),
    [
        *((empty, "is empty") for empty in (b"", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b" \n\r\n\x0b", b"\0\0\0")),
        (b"question,answer\n", "no questions below"),
        (b"question", "no questions below"),
        (b"[]", "no questions"),
        (b",,,\n,,", "no questions below"),
        (b"a,b,c\n,,", "no question column"),
        (b'"question,answer', "as a table"),
        (b"{nonsense", "No row"),
        (b"7", "no question column"),
        (b"[7]", "No row"),
        (b"%PDF-1.7 ...", "a PDF"),
        (b"PK\x03\x04...", "spreadsheet"),
    ],
)
def test_a_file_that_is_no_set_is_refused_with_what_to_do(data: bytes, words: str) -> None:
    with pytest.raises(InputError, match=words) as refused:
        read_set("mine.csv", data)
    assert "mine.csv" in refused.value.message
    assert refused.value.remedy != InputError.default_remedy


def test_more_rows_than_a_set_may_have_are_refused() -> None:
    assert MOST_QUESTIONS >= 50_000
    with pytest.raises(InputError, match="over 100,000 rows"):
        read("[" + "1," * MOST_QUESTIONS + "1]")


@given(st.binary(max_size=200) | st.text('qa?,;\t"\n\r=|[]{}:\\0é', max_size=80).map(lambda text: text.encode()))
def test_whatever_the_bytes_it_is_a_set_or_a_clear_error(data: bytes) -> None:
    for start in (b"", b"question,answer\n", b'{"question": "', codecs.BOM_UTF16_LE):
        try:
            found = read_set("set", start + data)
        except InputError as error:
            assert error.message and error.remedy
        else:
            json.dumps([each.question for each in found.questions], ensure_ascii=False).encode()
            assert len({each.id for each in found.questions}) == len(found.questions)


# ---- the shipped set -----------------------------------------------------------------------------------------------


def test_the_shipped_set_is_true_to_the_sample_library() -> None:
    """Each answer stands on each page it names; those of the web stand there and nowhere in the report."""
    found = read_set("questions.jsonl", (FOLDER / "questions.jsonl").read_bytes())
    assert found.problems == ()
    assert 12 <= len(found.questions) <= 15
    pages = report_pages()
    for each in found.questions:
        if each.labels == ("report",):
            assert each.pages and all(holds(pages[page - 1], each.answers) for page in each.pages), each.id
            assert each.sources == ("opm-annual-performance-report-2019.pdf",)
        elif each.labels == ("web",):
            assert all(holds(web_text(name), each.answers) for name in each.sources), each.id
            assert each.sources and all(map(on_web, each.sources))
            assert not any(holds(page, each.answers) for page in pages), each.id
        else:
            assert (each.labels, each.answers, each.sources) == ((UNANSWERABLE,), (), ())
    counts = [sum(label in each.labels for each in found.questions) for label in ("report", "web", UNANSWERABLE)]
    assert min(counts) >= 2


def report_pages() -> list[str]:
    document = pypdfium2.PdfDocument(FOLDER / "opm-annual-performance-report-2019.pdf")
    texts = [page.get_textpage().get_text_bounded() for page in document]
    document.close()
    return texts


def web_text(name: str) -> str:
    """The text behind an address as runs show it."""
    return html.unescape((FOLDER / "web" / name.removeprefix("folder:")).read_text(encoding="utf-8"))


def holds(text: str, answers: tuple[str, ...]) -> bool:
    words = " ".join(text.split())
    return any(re.search(rf"(?<![\w.,]){re.escape(answer)}(?!\w)", words) for answer in answers)


def test_answers_that_are_sentences_and_those_that_cannot_be_compared_are_named_with_their_rows() -> None:
    long = " ".join(f"word{number}" for number in range(25))
    rows = [
        "question,answers,labels",
        "A?,The lighthouse was built in 280 BC.,",
        "B?,280 BC | It was built in the year 280 BC.,",
        f"C?,{long},",
        "D?,A,",
        "E?,No book says when it was built at all.,unanswerable",
    ]
    found = read("\n".join(rows))
    assert len(found.questions) == 5 and [each.row for each in found.problems] == [2, 4, 5]
    assert all(each.kept for each in found.problems)
    assert "a whole sentence: it counts as said where an answer holds all its words" in found.problems[0].what
    assert all("is not scored. Add a short one too" in each.what for each in found.problems[1:])
