"""What each tool takes: its arguments with their ranges, from which the input schemas are made."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from crag.core.strategies import STRATEGIES
from crag.pipeline.admission import QUESTION_CHARS

TEXTS, TEXT_CHARS = 64, 20_000
"""How many texts may be graded at once, and how long each may be."""
UPLOAD_MB = 16
"""The largest document that comes in a message."""
BASE64_CHARS = UPLOAD_MB * 1024 * 1024 * 4 // 3 + 4
PAGE = 50
"""How many documents a list shows, unless it is asked for another number."""

Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]
RunId = Annotated[str, StringConstraints(max_length=100)]


class Arguments(BaseModel):
    """Of any tool; one that it does not take is refused by its name."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Narrowing(Arguments):
    """Which documents are searched."""

    documents: tuple[Name, ...] = Field(
        (), max_length=100, description="Search only these documents, each by its name or the beginning of its id."
    )
    tags: tuple[Name, ...] = Field((), max_length=20, description="Search only documents with one of these tags.")
    where: str = Field(
        "",
        max_length=2_000,
        description="Search only documents whose fields meet this, as: verified and date >= 2024. "
        "The fields are those that the tool documents tells of each.",
    )


class Search(Narrowing):
    """For `search`."""

    question: str = Field(min_length=1, max_length=QUESTION_CHARS, description="A question, or words to search for.")
    k: int = Field(8, ge=1, le=50, description="How many passages at most.")
    mode: Literal["hybrid", "dense", "bm25"] = Field(
        "hybrid", description="By meaning and words (hybrid), by meaning alone (dense), by words alone (bm25)."
    )


class Ask(Narrowing):
    """For `ask`."""

    question: str = Field(min_length=1, max_length=QUESTION_CHARS, description="The question, in plain words.")
    strategy: str = Field(
        "",
        max_length=60,
        description="Which design of corrective RAG answers; without it, the one that the server was started with.",
        json_schema_extra={"enum": ["", *STRATEGIES]},
    )
    wanted: Literal["answer", "evidence"] = Field(
        "answer",
        description="answer: a written answer with citations, checked. evidence: only the sentences that an answer may "
        "rest on, graded and filtered, for whoever writes the answer itself.",
    )
    after: RunId = Field("", description="The run_id of an earlier answer that this question follows on.")


class Grade(Arguments):
    """For `grade`."""

    question: str = Field(
        min_length=1, max_length=QUESTION_CHARS, description="The question that the texts may answer."
    )
    texts: tuple[Annotated[str, StringConstraints(min_length=1, max_length=TEXT_CHARS)], ...] = Field(
        min_length=1, max_length=TEXTS, description="The texts to be graded, in any order."
    )


class Documents(Arguments):
    """For `documents`."""

    containing: str = Field("", max_length=300, description="Only those with these words in their name or title.")
    tag: str = Field("", max_length=300, description="Only those with this tag.")
    where: str = Field("", max_length=2_000, description="Only those whose fields meet this, as: pages > 10.")
    offset: int = Field(
        0, ge=0, le=10_000_000, description="How many to leave out first: next_offset of the page before."
    )
    limit: int = Field(PAGE, ge=1, le=200, description="How many at most.")


class AddDocument(Arguments):
    """For `add_document`: exactly one of `text` and `base64`."""

    name: Name = Field(description="The file's name with its ending, as report.pdf or notes.md.")
    text: str | None = Field(None, max_length=UPLOAD_MB * 1024 * 1024, description="The document, where it is text.")
    base64: str | None = Field(
        None,
        max_length=BASE64_CHARS,
        description=f"The file's bytes in Base64, at most {UPLOAD_MB} MB of them: PDF, Word, PowerPoint, Excel, CSV, "
        "HTML, Markdown, text, images.",
    )
    confidence: float = Field(1.0, ge=0, le=1, description="How far what the document says is trusted.")


class AddFile(AddDocument):
    """The same where the server was started with a folder of files: exactly one of `text`, `base64` and `path`."""

    name: str = Field("", max_length=300, description="The file's name with its ending. Not needed with path.")
    path: str | None = Field(
        None, min_length=1, max_length=1_000, description="A file below the server's folder of files, relative to it."
    )
