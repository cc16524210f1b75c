"""The tools as a table: what each is called, takes, returns and does to the library."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from mcp_types import Tool, ToolAnnotations
from pydantic import BaseModel

from crag.integrations.mcp import schemas
from crag.integrations.mcp.asking import ask
from crag.integrations.mcp.documents import add_document, documents
from crag.integrations.mcp.offer import ServerConfig
from crag.integrations.mcp.searching import grade, search

Run = Callable[..., Awaitable[tuple[str, schemas.Result]]]


@dataclass(frozen=True, kw_only=True)
class Offered:
    """One tool: `run` takes the request and the arguments, and returns text for a model and a record."""

    run: Run
    title: str
    description: str
    arguments: type[BaseModel]
    result: type[schemas.Result]
    reads: bool = True
    reaches: bool = False

    def listed(self, name: str) -> Tool:
        """The tool as a client sees it."""
        return Tool(
            name=name,
            title=self.title,
            description=self.description,
            input_schema=self.arguments.model_json_schema(),
            output_schema=self.result.model_json_schema(mode="serialization"),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=self.reads,
                destructive_hint=False,
                idempotent_hint=True,
                open_world_hint=self.reaches,
            ),
        )


def offered(offer: ServerConfig) -> Mapping[str, Offered]:
    """The tools of a server, by name: those that change the library only where it may be changed."""
    found: dict[str, Offered] = {
        "search": Offered(
            run=search,
            title="Search the documents",
            description="Finds the passages of the documents nearest to a question, each with its document, page and "
            "similarity. Nothing is graded and nothing answered: to have a question answered, use ask.",
            arguments=schemas.Search,
            result=schemas.Found,
        ),
        "ask": Offered(
            run=ask,
            title="Ask the documents",
            description="Answers a question from the documents, with citations. Passages are retrieved and graded; by "
            "the grades the run answers (CORRECT), refines and adds to them (AMBIGUOUS), or looks elsewhere "
            "(INCORRECT); every sentence is checked against what it cites. It says so where the documents do not "
            "tell. Takes some seconds; its steps are reported as progress, and cancelling the request stops it.",
            arguments=schemas.Ask,
            result=schemas.Asked,
            reaches=_reaches(offer),
        ),
        "grade": Offered(
            run=grade,
            title="Grade texts",
            description="Scores how likely each text answers a question, 0 to 1, calibrated: of texts scored 0.8 about "
            "80 % do. Uses no document.",
            arguments=schemas.Grade,
            result=schemas.Grades,
            reaches=_reaches(offer),
        ),
        "documents": Offered(
            run=documents,
            title="List the documents",
            description="Lists the documents with their fields, a page at a time; filters by words, tag or fields.",
            arguments=schemas.Documents,
            result=schemas.Listing,
        ),
    }
    if not offer.read_only:
        found["add_document"] = Offered(
            run=add_document,
            title="Add a document",
            description="Adds a document to the library: PDF, Word, PowerPoint, Excel, CSV, HTML, Markdown, text or an "
            "image. It can be searched as soon as this returns. The same content is never there twice.",
            arguments=schemas.AddFile if offer.files is not None else schemas.AddDocument,
            result=schemas.Added,
            reads=False,
        )
    return found


def _reaches(offer: ServerConfig) -> bool:
    """Whether anything of a run may leave this machine."""
    return bool(offer.engine.wiring().leaving)
