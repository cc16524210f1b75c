"""What the middleware leaves in an agent's state: how the retrieval for the last question ended, without its text."""

from __future__ import annotations

from typing import Annotated, NotRequired

from langchain.agents.middleware.types import AgentState, OmitFromInput, PrivateStateAttr
from langgraph.channels.untracked_value import UntrackedValue
from typing_extensions import TypedDict

from crag.core.errors import Reason
from crag.core.types import Origin


class Source(TypedDict):
    """What the model was shown under `number`: of which chunk or web page, and where a person finds it.

    `score` is the relevance of the text that was shown, 0..1; None where that was not scored. `url` is set for what
    is of the web, `page` for what has pages.
    """

    number: int
    origin: Origin
    source: str
    place: str
    page: int | None
    url: str | None
    score: float | None
    source_id: str
    strip_id: str


class Problem(TypedDict):
    """Why nothing was retrieved, for code (`reason`) and for people: what failed, and what they can do."""

    reason: Reason
    message: str
    remedy: str


class Correction(TypedDict):
    """How the retrieval for the agent's last human message ended.

    `asked_as`: the question that was asked in place of a follow-up; empty where it was asked as it is. `action`:
    CORRECT, AMBIGUOUS or INCORRECT; None where nothing was decided (plain RAG, or a problem). `score` was compared with
    the thresholds `upper` and `lower`. `sources` are what the model was shown. `failures` are sentences on what another
    part stood in for. `problem` is None where the run went through. The whole run, with all texts, is stored in the
    workspace's library under `run_id`; that is empty where none began.
    """

    question: str
    asked_as: str
    strategy: str
    workspace: str
    action: str | None
    score: float | None
    upper: float | None
    lower: float | None
    sentence: str
    sources: list[Source]
    failures: list[str]
    problem: Problem | None
    run_id: str
    seconds: float
    key: str
    """Of which message, in which workspace, it is."""


class Injected:
    """What is said to the model in each of a turn's calls, for which message, and how many runs the turn has had.

    An opaque object: a stream of states shows all their keys to anyone who reads it, and this text is the model's
    alone.
    """

    __slots__ = ("key", "runs", "text")

    def __init__(self, key: str, text: str, runs: int) -> None:
        self.key, self.text, self.runs = key, text, runs

    def __repr__(self) -> str:
        return f"Injected(key={self.key!r}, runs={self.runs})"


class CragState(AgentState):
    """An agent's state with `crag`, the last correction, which a checkpointer keeps.

    What the model is shown (`crag_injected`) lives for one turn: no checkpointer stores it, and no result or stream
    shows its text.
    """

    crag: NotRequired[Annotated[Correction, OmitFromInput]]
    crag_injected: NotRequired[Annotated[Injected, UntrackedValue, PrivateStateAttr]]
