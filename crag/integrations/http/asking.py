"""A question asked for one request: whoever asks in whichever form, the run is begun, followed and ended here."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any

from starlette.requests import Request

from crag.core import events as ev
from crag.core.errors import CragError, InputError
from crag.core.exchanges import Exchange
from crag.core.request import RunRequest
from crag.core.settings import Settings
from crag.core.strategies import STRATEGIES
from crag.core.trace import Trace
from crag.core.types import OutputMode
from crag.integrations.http.problems import Problem
from crag.integrations.http.serving import Call
from crag.pipeline.admission import check_question

_OPENING = (
    ev.RunStarted,
    ev.ScopeResolved,
    ev.QuestionRewritten,
    ev.StepStarted,
    ev.StepFinished,
    ev.Called,
    ev.Failed,
)
"""After these a run may still end without having retrieved anything."""


class Run:
    """One run of one request. `trace` is what is known of it so far, `ended` the error that ended it."""

    def __init__(self, call: Call, request: RunRequest) -> None:
        self.trace = Trace()
        self.ended: CragError | None = None
        self._first: list[ev.Event] = []

        def told() -> Iterator[ev.Event]:
            call.sends_keys()
            self.ended = yield from call.engine.ask(request)

        self._events = call.follow(told())

    async def begin(self) -> None:
        """Lets it go on until it waits or has retrieved something. Raises the CragError that ended it before."""
        over = False
        async for event in self._events:
            self._first.append(event)
            over = over or isinstance(event, ev.Cancelled) or (isinstance(event, ev.Failed) and event.fatal)
            if not over and not isinstance(event, _OPENING):
                return
        if self.ended is not None:
            raise self.ended

    async def events(self) -> AsyncIterator[ev.Event]:
        """All of its events, with `trace` up to each."""
        for event in self._first:
            self.trace = self.trace.apply(event)
            yield event
        async for event in self._events:
            self.trace = self.trace.apply(event)
            yield event


def request_of(
    call: Call,
    question: str,
    strategy: str,
    settings: Settings,
    history: Sequence[Exchange] = (),
    wanted: OutputMode = "answer",
) -> RunRequest:
    """The request to the engine that an HTTP request makes."""
    return RunRequest(
        question,
        strategy,
        call.workspace,
        settings=settings,
        history=tuple(history),
        wanted=wanted,
        cancel=call.cancel,
        via="http",
        client=client_of(call.request),
    )


def run_to_end(call: Call, request: RunRequest) -> Trace:
    """The whole run. Raises as `Engine.trace`."""
    call.sends_keys()
    return call.engine.trace(request)


def choose_settings(strategy: str, changes: Mapping[str, Any], param: str) -> Settings:
    """The settings of a strategy with changes. Raises Problem, `param` the field of the body that they came in."""
    if strategy not in STRATEGIES:
        known = ", ".join(STRATEGIES)
        said = f"There is no strategy {strategy[:100]!r}. There is: {known}."
        raise Problem(400, "unknown_strategy", said, param=f"{param}strategy")
    try:
        return STRATEGIES[strategy].settings.changed(**changes)
    except InputError as error:
        raise Problem(400, "invalid_setting", str(error), param=f"{param}settings") from error


def question_of(text: str, param: str) -> str:
    """The question, before a run is made of it. Raises Problem for an empty and for a too long one."""
    try:
        return check_question(text)
    except InputError as error:
        raise Problem(400, "invalid_question", str(error), param=param) from error


def client_of(request: Request) -> str:
    """What the program that asks calls itself: its X-Client-Name, or else the product that its User-Agent begins with.

    Nobody vouches for it. The engine keeps a short line of it.
    """
    named = request.headers.get("x-client-name", "").strip()
    return named or request.headers.get("user-agent", "").partition("/")[0].strip()
