"""Corrective RAG in an agent: before each of its model calls, with the evidence shown for that call alone, or as a
tool that it calls: a cited answer, or the evidence for one, and the record of the run as artifact.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, ToolException
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field, ValidationError

from crag.core.errors import BudgetError, CragError, QuestionError
from crag.core.protocols import RunRequest
from crag.core.settings import Settings
from crag.core.trace import Trace
from crag.core.types import Exchange, OutputMode
from crag.engine import Engine
from crag.export.markdown import Harmless, closing
from crag.export.records import RunRecord
from crag.generation.conversation.history import ANSWER_CHARS, exchanges_of
from crag.integrations.langchain.evidence import FAILED, context, correction
from crag.integrations.langchain.runs import AgentRuns, Ended, Searched, Workspace, arun, run
from crag.integrations.langchain.state import CragState, Injected
from crag.messages.answers import STATES
from crag.messages.wording import outcome_sentence
from crag.pipeline.request import QUESTION_CHARS


def last_question(messages: Sequence[AnyMessage]) -> int | None:
    """The place of the last message of a person; None where there is none."""
    return next((place for place in reversed(range(len(messages))) if _is_asked(messages[place])), None)


def exchanges(messages: Sequence[AnyMessage]) -> list[Exchange]:
    """What was asked and answered in these messages."""
    return exchanges_of(
        (isinstance(each, HumanMessage), each.text[:ANSWER_CHARS] if isinstance(each, AIMessage) else each.text)
        for each in reversed(messages)
        if isinstance(each, AIMessage) or _is_asked(each)
    )


def _is_asked(message: AnyMessage) -> bool:
    """Whether a person wrote it, and no program in a person's place, as a summary of earlier messages."""
    return isinstance(message, HumanMessage) and not message.additional_kwargs.get("lc_source")


Update = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Due:
    """A run that is to be made: for which message (`key`), and as which of this turn's runs.

    `made`: the id of the run that the same turn made before it was interrupted; empty where there is none.
    """

    request: RunRequest
    key: str
    runs: int
    made: str


class CragMiddleware(AgentMiddleware[CragState, Any, Any]):
    """Looks up the last human message of an agent, judges and corrects what is found, and tells the model.

    `strategy` and `settings` as in `Engine.ask`; `settings` may also be a mapping of those that differ from the
    strategy's. `workspace` names the documents' owner: one for all, or a function of the agent's state and runtime,
    which is asked again before each call. `retriever` is searched in place of the workspace's library: this project's
    `Retriever`, a LangChain store or retriever, or a function of state and runtime that gives one, which is then what
    keeps tenants apart. `client` names the agent in the history.

    The evidence stands in the system message of that call, and never in the history.
    How the run ended is in the state as `crag`: see `Correction`. A message is looked up once, however often the agent
    comes back from its tools to the model; a turn has at most `max_runs` runs.

    A failure is shown to the model and stands in the state; with `on_error="raise"` it is raised as the CragError that
    it is. Raises SettingsError for a strategy or a setting that does not exist.
    """

    state_schema = CragState

    def __init__(
        self,
        engine: Engine,
        workspace: Workspace = "default",
        strategy: str = "balanced",
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        retriever: Searched | Callable[[Any, Any], Searched] | None = None,
        on_error: Literal["tell", "raise"] = "tell",
        max_runs: int = 8,
        client: str = "",
    ) -> None:
        super().__init__()
        self._runs = AgentRuns(engine, strategy, workspace, settings, retriever, "evidence", client)
        self._raises, self._max_runs = on_error == "raise", max_runs

    def before_model(self, state: CragState, runtime: Runtime[Any]) -> Update | None:
        """Looks up the last human message, unless this turn has done so. Raises CragError where that is wanted."""
        due = self._due(state, runtime)
        if not isinstance(due, _Due):
            return due
        ended = self._runs.stored(due.made, due.request)
        return self._found(ended or run(self._runs.engine, due.request), due)

    async def abefore_model(self, state: CragState, runtime: Runtime[Any]) -> Update | None:
        """As `before_model`. Who cancels the agent stops the run, which is stored as stopped."""
        due = self._due(state, runtime)
        if not isinstance(due, _Due):
            return due
        ended = await asyncio.to_thread(self._runs.stored, due.made, due.request) if due.made else None
        return self._found(ended or await arun(self._runs.engine, due.request), due)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """The call with what was found in it."""
        return handler(self._with_evidence(request))

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """The call with what was found in it."""
        return await handler(self._with_evidence(request))

    def _due(self, state: CragState, runtime: Runtime[Any]) -> _Due | Update | None:
        """The run that is to be made; or what the state gets without one, None where it has that already."""
        injected, messages = state.get("crag_injected"), state.get("messages", [])
        at = last_question(messages)
        if at is None and injected:
            return None  # a summary has taken the message's place since
        key, runs = "", injected.runs if injected else 0
        question = ""
        try:
            if at is None:
                raise QuestionError("There is no message of a person to look up.", "Begin with a human message.")
            question = str(messages[at].text)
            request = self._runs.request(question, state, runtime)
            key = _key(messages[at], request)
            if injected and injected.key == key:
                return None
            if runs >= self._max_runs:
                raise BudgetError(
                    f"This turn of the agent has made {runs} runs, as many as it may.",
                    "Raise max_runs, or end the loop.",
                )
        except CragError as error:
            return self._failed(error, Trace(question=question[:200], strategy=self._runs.strategy), key, runs)
        known = state.get("crag")
        made = known["run_id"] if known and known["key"] == key and not known["problem"] else ""
        return _Due(replace(request, history=exchanges(messages[:at])), key, runs + 1, made)

    def _found(self, ended: Ended, due: _Due) -> Update:
        if ended.error:
            return self._failed(ended.error, ended.trace, due.key, due.runs)
        return {
            "crag": correction(ended.trace, due.key, None),
            "crag_injected": Injected(due.key, context(ended.trace), due.runs),
        }

    def _failed(self, error: CragError, trace: Trace, key: str, runs: int) -> Update:
        if self._raises:
            raise error
        return {"crag": correction(trace, key, error), "crag_injected": Injected(key, FAILED, runs)}

    def _with_evidence(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        injected = cast(CragState, request.state).get("crag_injected")
        if not injected:
            return request
        system = request.system_message or SystemMessage("")
        more = [*system.content, {"type": "text", "text": injected.text}] if isinstance(system.content, list) else None
        content = more or f"{system.content}\n\n{injected.text}".strip()
        return request.override(system_message=system.model_copy(update={"content": content}))


def _key(message: AnyMessage, request: RunRequest) -> str:
    """Of a message in a workspace: what is looked up once."""
    said = "\n".join([str(request.workspace), message.id or "", request.question])
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()[:32]


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
    workspace: Workspace = "default",
    strategy: str = "balanced",
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
            return _result(run(engine, runs.request(question, _state(runtime, name, max_calls), runtime)))
        except CragError as error:
            raise ToolException(str(error)) from error

    async def aask(question: str, runtime: ToolRuntime = None) -> tuple[str, dict[str, Any]]:  # type: ignore[assignment]
        try:
            return _result(await arun(engine, runs.request(question, _state(runtime, name, max_calls), runtime)))
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
    ended = [f"{STATES[trace.outcome]}.", *filter(None, [outcome_sentence(trace)])]
    return "\n".join([Harmless()(trace.answer.text, last=True) + closing(trace), *ended])


def _bad_arguments(error: Any) -> str:
    """What is wrong with the arguments, in a line; without what was given, which may be long."""
    if not isinstance(error, ValidationError):
        return "These arguments can't be read."
    said = (f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in error.errors())
    return f"Wrong arguments. {'; '.join(said)}. Wanted: question, a text of 1 to {QUESTION_CHARS:,} characters."
