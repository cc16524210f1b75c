"""The engine as a LangChain tool: a cited answer, or the evidence for one, and the run's record as artifact."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain.tools import ToolRuntime
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from pydantic import BaseModel, Field, ValidationError

from crag.core.errors import CragError
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Citation, OutputMode
from crag.engine import QUESTION_CHARS, Engine
from crag.export.records import RunRecord
from crag.integrations.langchain.context import context
from crag.integrations.langchain.runs import AgentRuns, Ended, Searched, Workspace
from crag.messages.wording import outcome_sentence

DESCRIPTION = """\
Answers a question from the person's documents, with citations. Ask one whole question that is understood without the \
conversation. It says so itself where the documents do not answer."""
EVIDENCE = """\
Looks a question up in the person's documents and gives the passages that may answer it, numbered, with a verdict. \
Ask one whole question that is understood without the conversation."""


class Asked(BaseModel):
    """What the tool takes."""

    question: str = Field(
        min_length=1, max_length=QUESTION_CHARS, description="The question, in words that stand alone."
    )


def crag_tool(
    engine: Engine,
    strategy: str = "balanced",
    workspace: Workspace = "default",
    settings: Settings | Mapping[str, Any] | None = None,
    *,
    retriever: Searched | Callable[[Any, Any], Searched] | None = None,
    wanted: OutputMode = "answer",
    name: str = "ask_documents",
    description: str = "",
    max_calls: int = 8,
    client: str = "",
) -> BaseTool:
    """A tool for an agent that decides itself when to ask. Other parameters are those of `CragMiddleware`.

    What the model reads is the answer with its numbered sources, or with `wanted="evidence"` the passages. The artifact
    is the run's record as JSON has it (`crag.export.records.RunRecord`), with `citations`. A question is refused where
    the model has asked `max_calls` in answer to one human message. Every failure and every bad argument is an error
    message to the model: the tool raises nothing of this project's.

    Raises SettingsError for a strategy or a setting that does not exist.
    """
    runs = AgentRuns(engine, strategy, workspace, settings, retriever, wanted, client)

    # LangChain gives `runtime` where the tool works in an agent.
    def ask(question: str, runtime: ToolRuntime = None) -> tuple[str, dict[str, Any]]:  # type: ignore[assignment]
        try:
            return _result(runs.run(runs.request(question, _state(runtime, name, max_calls), runtime)))
        except CragError as error:
            raise ToolException(str(error)) from error

    async def aask(question: str, runtime: ToolRuntime = None) -> tuple[str, dict[str, Any]]:  # type: ignore[assignment]
        try:
            return _result(await runs.arun(runs.request(question, _state(runtime, name, max_calls), runtime)))
        except CragError as error:
            raise ToolException(str(error)) from error

    return StructuredTool.from_function(
        func=ask,
        coroutine=aask,
        name=name,
        description=description or (DESCRIPTION if wanted == "answer" else EVIDENCE),
        args_schema=Asked,
        infer_schema=False,
        response_format="content_and_artifact",
        handle_tool_error=True,
        handle_validation_error=_bad_arguments,
    )


def _state(runtime: Any, name: str, max_calls: int) -> Any:
    """The agent's state; nothing outside of one. Raises ToolException where the model has asked often enough."""
    state = runtime.state if runtime is not None else {}
    calls = 0
    for message in reversed(state.get("messages", []) if isinstance(state, Mapping) else []):
        if isinstance(message, HumanMessage):
            break
        calls += isinstance(message, ToolMessage) and message.name == name
    if calls >= max_calls:
        raise ToolException(f"This was asked {calls} times already, as often as it may. Answer from what was returned.")
    return state


def _result(ended: Ended) -> tuple[str, dict[str, Any]]:
    if ended.error:
        raise ended.error
    # As JSON has it: a checkpointer keeps it, and reads no types of this project.
    return _format_run(ended.trace), RunRecord.of(ended.trace).json_values()


def _format_run(trace: Trace) -> str:
    """What the model reads of a run."""
    if trace.answer is None:
        return context(trace)
    cited = [f"[{citation.number}] {_place(citation)}" for citation in trace.answer.citations]
    return "\n".join([trace.answer.text, "", *cited, outcome_sentence(trace)])


def _place(citation: Citation) -> str:
    if citation.origin == "external":
        return f"web page: {citation.source} {citation.url or ''}".rstrip()
    return ", ".join(filter(None, (citation.source, citation.where)))


def _bad_arguments(error: Any) -> str:
    """What is wrong with the arguments, in a line; without what was given, which may be long."""
    if not isinstance(error, ValidationError):
        return "These arguments can't be read."
    said = (f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in error.errors())
    return f"Wrong arguments. {'; '.join(said)}. Wanted: question, a text of 1 to {QUESTION_CHARS:,} characters."
