"""The sample library: whole, searchable, true to its sources, and clear about what is missing."""

import importlib.util
import json
import re
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest

from crag.core.errors import NotFoundError
from crag.core.sample import FOLDER, load_sample
from crag.core.types import Action
from crag.retrieval.rewriting import KeywordRewriter
from crag.web.folder import FolderWeb


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("samples_build", FOLDER / "build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("action", "name"), [(Action.AMBIGUOUS, "opm-2017-overview"), (Action.INCORRECT, "ntsb-chi08ca047")]
)
def test_the_rewritten_question_finds_the_page_that_answers_it(action: Action, name: str) -> None:
    sample = load_sample()
    question = next(question for question in sample.questions if question.expected is action)
    query = KeywordRewriter().rewrite(question.question, max_keywords=3)
    found = FolderWeb(sample.web).search(query, 2)
    assert f"folder:{name}.html" in {page.url for page in found}


def test_the_pages_are_what_the_script_makes(shared_data: Path, builder: ModuleType, tmp_path: Path) -> None:
    builder.WEB = tmp_path
    builder.main(shared_data / "public_domain")
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in load_sample().web.iterdir()}


def test_the_pages_keep_the_words_of_their_sources(shared_data: Path, builder: ModuleType) -> None:
    """Every paragraph of a page stands in a source PDF, white space and running footers aside."""
    sources = " ".join(
        line
        for path in sorted((shared_data / "public_domain").glob("*.pdf"))
        for text in builder.page_texts(path)
        for line in builder._lines(text)
    )
    squeezed = re.sub(r"\s+", "", sources)
    checked = 0
    for path in sorted(load_sample().web.iterdir()):
        for paragraph in re.findall(r"<p>(.*?)</p>", path.read_text(encoding="utf-8"), re.DOTALL):
            assert re.sub(r"\s+", "", unescape(paragraph)) in squeezed
            checked += 1
    assert checked > 40


def test_a_missing_sample_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="samples folder"):
        load_sample(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "listed", ["[]", "{", '{"shown": [{"question": "a", "expected": "MAYBE"}], "pdf": "a", "web": "b", "set": "c"}']
)
def test_a_broken_list_says_so(tmp_path: Path, listed: str) -> None:
    (tmp_path / "questions.json").write_text(listed)
    with pytest.raises(NotFoundError, match="questions"):
        load_sample(tmp_path)


@pytest.mark.parametrize("gone", ["pdf", "web", "set"])
def test_a_sample_without_one_of_its_parts_says_so(tmp_path: Path, gone: str) -> None:
    parts = {"pdf": "questions.json", "web": ".", "set": "questions.json"}
    (tmp_path / "questions.json").write_text(json.dumps({"shown": [], **parts}))
    assert load_sample(tmp_path).web == tmp_path
    (tmp_path / "questions.json").write_text(json.dumps({"shown": [], **parts, gone: "gone"}))
    with pytest.raises(NotFoundError, match="not whole"):
        load_sample(tmp_path)
