"""The sample library: a real public-domain report, a folder of pages as its web, and questions to try."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from crag.core.errors import NotFoundError
from crag.core.types import Action

_HERE = Path(__file__).resolve().parent.parent
FOLDER = _HERE / "samples" if (_HERE / "samples").is_dir() else _HERE.parent / "samples"
"""Inside the installed package; in a checkout beside it."""

STORIES = FOLDER / "stories"
"""The events of runs over the sample, a file each, which the app plays (`python -m samples.record`)."""


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question and the action that the default strategy takes on it with the sample library."""

    question: str
    expected: Action


@dataclass(frozen=True, slots=True)
class Sample:
    """`pdf` to be added, `web` the folder that stands in for the web, one question for each action.

    `question_set`: a file of questions with what is expected, to be evaluated.
    """

    pdf: Path
    web: Path
    questions: tuple[SampleQuestion, ...]
    question_set: Path

    @property
    def document_id(self) -> str:
        """What its PDF is known by in a library that holds it. Raises NotFoundError where it can't be read."""
        return _content_id(self.pdf)


@lru_cache(maxsize=4)
def _content_id(pdf: Path) -> str:
    try:
        return hashlib.sha256(pdf.read_bytes()).hexdigest()
    except OSError as error:
        raise NotFoundError(f"The sample's PDF can't be read: {error.strerror or error}.") from error


def load_sample(folder: Path = FOLDER) -> Sample:
    """The sample in `folder`. Raises NotFoundError where it is not there or not whole."""
    remedy = "Restore the samples folder from the repository; your own documents work without it."
    try:
        listed = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        questions = tuple(SampleQuestion(str(each["question"]), Action(each["expected"])) for each in listed["shown"])
        pdf, web = folder / str(listed["pdf"]), folder / str(listed["web"])
        question_set = folder / str(listed["set"])
    except OSError as error:
        raise NotFoundError("The sample library is not there.", remedy) from error
    except (ValueError, KeyError, TypeError) as error:
        raise NotFoundError("The sample library has no usable list of questions.", remedy) from error
    if not pdf.is_file() or not web.is_dir() or not question_set.is_file():
        missing = "its PDF, its pages or its set of questions is missing"
        raise NotFoundError(f"The sample library is not whole: {missing}.", remedy)
    return Sample(pdf=pdf, web=web, questions=questions, question_set=question_set)


@cache
def shipped_sample() -> Sample:
    """The sample that ships, read once. Raises NotFoundError, and then looks again the next time."""
    return load_sample()
