"""Documents of every kind, from bytes to a cited answer: the place that a citation names is where the words stand."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.config import AppConfig
from crag.core.ingesting import DocumentAdded, DocumentFailed
from crag.engine import Engine
from crag.testing.fakes import ScriptedEvaluator
from tests.support.reported import kind
from tests.support.small_library import WordEmbedder
from tests.support.small_office import body, edited, swollen
from tests.support.small_pdf import LIGHTHOUSE, small_pdf

PAGE = (
    "<html><head><title>Ferries</title></head><body><h1>Ferries</h1><p>The ferries sail when the tide allows.</p>"
    "<h2>Piers</h2><p>The northern pier was painted green by its keeper in the spring.</p></body></html>"
)
MARKDOWN = "# Cranes\n\nThe cranes stand on the quay.\n\n## Ropes\n\nThe ropes were spliced by Tom Hale in winter.\n"
TEXT = "The bell of the chapel was cast in Leuven, and rung by hand until the war.\n"
CSV = "Buoy;Colour\nGull rock;red\nSeal bank;yellow\n"

FILES = {
    "lamp.pdf": (small_pdf(*LIGHTHOUSE), "rapeseed", "page 2"),
    "report.docx": (kind("report.docx"), "sister", "section Nets"),
    "ferry.pptx": (kind("crossing.pptx"), "crowns", "slide 3"),
    "revenue.xlsx": (kind("revenue.xlsx"), "Margin", "sheet Revenue"),
    "buoys.csv": (CSV.encode(), "yellow", "rows 1-3"),
    "piers.html": (PAGE.encode(), "green", "section Piers"),
    "cranes.md": (MARKDOWN.encode(), "spliced", "section Ropes"),
    "bell.txt": (TEXT.encode(), "Leuven", "part 1"),
}
"""Name -> bytes, a word that stands in that file alone, and the place where it does."""


class Sought(ScriptedEvaluator):
    """Scores what holds `word` high."""

    word = ""

    def __init__(self) -> None:
        super().__init__(score=lambda text: 0.95 if self.word in text else 0.02)


@pytest.fixture
def sought() -> Sought:
    return Sought()


@pytest.fixture
def engine(tmp_path: Path, sought: Sought) -> Iterator[Engine]:
    with Engine(AppConfig.of(data=tmp_path), embedder=WordEmbedder(), evaluator=sought) as made:
        yield made


def test_every_kind_is_added_and_cited_where_its_words_stand(engine: Engine, sought: Sought) -> None:
    files = [(name, lambda data=data: data) for name, (data, _, _) in FILES.items()]
    added = [event.document for event in engine.add_files(files) if isinstance(event, DocumentAdded)]
    assert [document.kind for document in added] == ["pdf", "docx", "pptx", "xlsx", "csv", "html", "markdown", "text"]
    for name, (_, word, place) in FILES.items():
        sought.word = word
        answer = engine.answer(f"What is said of {word}?")
        [citation] = [each for each in answer.citations if word in each.quote]
        assert (citation.source, citation.where) == (name, place)
        chunk = engine.library().documents.chunk(citation.source_id)
        assert citation.quote.split()[0] in chunk.text and chunk.place == citation.place


@pytest.mark.slow
def test_of_files_that_can_not_be_read_nothing_is_stored(engine: Engine) -> None:
    broken = {
        "a.docx": edited(kind("report.docx"), body("<w:p>")),
        "b.xlsx": kind("revenue.xlsx")[:2000],
        "c.pptx": swollen(kind("crossing.pptx"), "ppt/media/x"),
        "d.html": b"<html><body><script>only()</script></body></html>",
        "e.csv": b",,\n",
    }
    ended = list(engine.add_files([(name, lambda data=data: data) for name, data in broken.items()]))
    failed = [event for event in ended if isinstance(event, DocumentFailed)]
    assert [event.name for event in failed] == list(broken) and all(event.remedy for event in failed)
    assert engine.library().documents.all() == [] and engine.library().size == (0, 0)
