"""A chat model behind any server that speaks the OpenAI protocol: text, checked objects, streams, and errors as ours.

What a server writes in an error is never passed on: some repeat the key they got.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import openai
from pydantic import BaseModel, SecretStr

from crag.core.errors import (
    BusyError,
    CragError,
    KeyRejectedError,
    ProviderError,
    ReplyError,
    UnreachableError,
)
from crag.core.protocols import Cut, Messages, Parsed
from crag.providers.endpoint import OPENAI, Endpoint, read, strict
from crag.providers.gguf_server import ANYWHERE, SLOTS, LocalClient, server_of
from crag.providers.speech import Speech, ThoughtOnlyError, extract_message, text_of
from crag.runtime.circuits import Service
from crag.runtime.connection import BoundedClient, OversizedError, PackingError
from crag.runtime.usage import PendingCall, UsageTracker
from crag.runtime.waiting import Clock
from crag.text.words import loop_in

log = logging.getLogger(__name__)

OTHER = "Choose another model or server in Settings."
_BENEATH = (openai.APIConnectionError, httpx.HTTPError, zlib.error, CragError)
"""What the clients wrap, each in its own: also ours, of a connection that speaks for its model."""


def translate_error(error: Exception, name: str) -> CragError:
    """The error as ours. Of what the server wrote, only its status and kind are used."""
    while isinstance(error, openai.APIConnectionError) and isinstance(error.__cause__, _BENEATH):
        error = error.__cause__
    match error:
        case CragError():
            return error
        case OversizedError():
            return ReplyError(f"sent more than {error.limit // 1_000_000} MB.", OTHER, who=name)
        case PackingError() | zlib.error():
            return ReplyError("sent a reply that can't be unpacked.", OTHER, who=name)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return KeyRejectedError(f"does not accept the key (status {error.status_code}).", who=name)
        case openai.NotFoundError():
            return ProviderError(
                "is not there (status 404).", "Check the model's name and the server's address in Settings.", who=name
            )
        case openai.RateLimitError():
            return BusyError("allows no more requests at present (status 429).", who=name)
        case openai.BadRequestError() if _over_long(error):
            return ReplyError(
                "can't read so much text at once.", "Retrieve fewer chunks, or use another model.", who=name
            )
        case openai.LengthFinishReasonError():
            return ReplyError("did not finish its reply.", who=name)
        case ThoughtOnlyError():
            return ReplyError("thought until its limit and said nothing.", "Choose a model that thinks less.", who=name)
        case openai.ContentFilterFinishReasonError():
            return ReplyError("refused to reply.", who=name)
        case openai.APITimeoutError() | httpx.TimeoutException():
            return UnreachableError("did not reply in time.", who=name)
        case openai.APIStatusError() if error.status_code >= 500:
            return BusyError(f"failed (status {error.status_code}).", who=name)
        case openai.APIStatusError():
            return ProviderError(f"refused the request (status {error.status_code}).", who=name)
        case openai.APIConnectionError() | httpx.TransportError() | ConnectionError():
            return UnreachableError("can't be reached, or broke off.", who=name)
        case _:
            log.warning("an unexpected %s from %s", type(error).__name__, name)
            return ReplyError("gave a reply that can't be read.", who=name)


def _over_long(error: openai.APIStatusError) -> bool:
    said = str(error).lower()
    return "context" in said and any(word in said for word in ("length", "size", "window", "exceed", "maximum"))


def retry_after(error: BaseException) -> float:
    """The seconds that the server asks to wait, 0 where it names none."""
    headers = error.response.headers if isinstance(error, openai.APIStatusError) else {}
    try:
        return max(0.0, float(headers.get("retry-after", 0)))
    except ValueError:
        return 0.0


ATTEMPTS = 3
FIRST_WAIT, LONGEST_WAIT = 0.4, 6.0
"""Seconds before the second attempt, and at most before any."""
CONNECT, SILENCE = 5.0, 60.0
"""Seconds for a connection, and without a byte after which it counts as dead: a small server answers others first."""
OWN_SILENCE = 3600.0
"""The same for a model file that this process runs: while its process is there, it is reading, however slowly."""
REFUSAL_SECONDS = 10.0
"""How long a call for which no time is left may take to be refused: it is, as soon as its thread gets to it."""
ROOM = 4_000
"""Tokens that a model gets beside those of its reply once it was seen to think until its limit and say nothing."""
TOKEN_CHARS = 12
"""More than tokens have on average: a reply of more characters than all its tokens could have ignores its limit."""
LOOK = 80
"""Characters after which a reply is looked at again, whether it repeats itself."""
REPAIR = "That was not usable ({problem}). Reply with the JSON object alone, exactly in the form asked for."


class ChatModel:
    """A connection, safe to share. `metered` gives what one run uses."""

    def __init__(self, endpoint: Endpoint, *, parallel: int = 8, connect: float = CONNECT) -> None:
        """`parallel`: calls at the same time, for all runs together. `connect`: seconds for a connection."""
        self.endpoint, self.id, self._connect = endpoint, endpoint.id, connect
        file = endpoint.file
        self.parallel = min(parallel, SLOTS) if file else parallel
        # No redirects: a key goes to the address it was given for and nowhere else.
        self._http = (
            LocalClient(server_of(file, endpoint.mark, endpoint.threads), follow_redirects=False)
            if file
            else BoundedClient(follow_redirects=False)
        )
        self._refused: frozenset[str] = frozenset()
        """Request options that the server has said it does not know."""
        self._room = 0
        self._bound: dict[tuple[int, float, str, frozenset[str], int], Any] = {}

    def metered(self, meter: UsageTracker) -> MeteredChat:
        return MeteredChat(self, meter)

    def bound(self, *, max_tokens: int, schema: type[BaseModel] | None = None, temperature: float = 0.0) -> Any:
        """The LangChain model with what the server understands of these options; made once for each set of them."""
        known = max_tokens, temperature, schema.__name__ if schema else "", *self.habits
        if known not in self._bound:
            self._bound[known] = self._made(max_tokens + self._room, schema, temperature)
        return self._bound[known]

    def _made(self, max_tokens: int, schema: type[BaseModel] | None, temperature: float) -> Any:
        from langchain_openai import ChatOpenAI

        options: dict[str, Any] = {"temperature": temperature, "max_completion_tokens": max_tokens}
        if schema is not None:
            form = {"name": schema.__name__.lower(), "schema": strict(schema), "strict": True}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        kept = {name: value for name, value in options.items() if name not in self._refused}
        if "max_completion_tokens" in self._refused:
            kept["max_tokens"] = max_tokens
        key = self.endpoint.key or SecretStr("none")
        model = ChatOpenAI(
            model=self.endpoint.model,
            # Never left out: the client would take another from the environment, and send the key there.
            base_url=ANYWHERE if self.endpoint.file else self.endpoint.base_url or OPENAI,
            api_key=key,
            max_retries=0,
            timeout=httpx.Timeout(OWN_SILENCE if self.endpoint.file else SILENCE, connect=self._connect),
            stream_usage="stream_options" not in self._refused,
            http_async_client=self._http,
            openai_proxy=None,
            # SILENCE is limit enough. LangChain's own waits in a way that, in Python 3.11, may lose a cancellation.
            stream_chunk_timeout=None,
        )
        # Nor whose key it is: that would be shown to every server.
        model.root_async_client.organization = model.root_async_client.project = None
        return model.bind(**kept)

    @property
    def habits(self) -> tuple[frozenset[str], int]:
        """How it is asked, as far as that was learned."""
        return self._refused, self._room

    def learned(self, error: BaseException, habits: tuple[frozenset[str], int]) -> bool:
        """Whether another attempt makes sense: without an option that the server refused, or with room to think.

        `habits`: how the call was made; where another call learned meanwhile, this one need not.
        """
        refused = isinstance(error, (openai.BadRequestError, openai.UnprocessableEntityError))
        if habits != self.habits and (refused or _thought(error)):
            return True
        if _thought(error) and not self._room:
            self._room = ROOM
            log.info("%s thinks before it replies; it gets %d tokens for that", self.id, ROOM)
            return True
        if not refused:
            return False
        said = str(error).lower()
        for option in ("response_format", "temperature", "max_completion_tokens", "stream_options"):
            known_as = {"response_format": ("response_format", "json_schema", "grammar")}.get(option, (option,))
            if option not in self._refused and any(name in said for name in known_as):
                self._refused |= {option}
                log.info("%s does not take %s; it is left out", self.id, option)
                return True
        return False


class MeteredChat:
    """A chat model within one run: every call is admitted, timed, counted, retried where that helps, and stoppable."""

    def __init__(self, model: ChatModel, meter: UsageTracker) -> None:
        self._model, self._meter, self.id = model, meter, model.id

    def text(self, messages: Messages, *, max_tokens: int) -> str:
        """The whole reply. Raises ProviderError."""
        with self._time() as (seconds, calls):
            reply = self._meter.wait_for(lambda: self._reply(messages, max_tokens, None, calls), seconds)
        return reply.strip()

    def parsed(self, schema: type[Parsed], messages: Messages, *, max_tokens: int) -> Parsed:
        """The reply as an object of the schema, after one repair if need be. Raises ProviderError."""
        with self._time() as (seconds, calls):
            return self._meter.wait_for(lambda: self._object(schema, messages, max_tokens, calls), seconds)

    def parsed_each(
        self, schema: type[Parsed], each: Sequence[Messages], *, max_tokens: int
    ) -> Iterator[tuple[int, Parsed | ProviderError, float]]:
        """For every conversation its place, object or failure, and seconds: each as it is ready, many at a time."""
        with self._time() as (seconds, calls):
            yield from self._meter.iterate(lambda: self._many(schema, each, max_tokens, calls), seconds)

    def written(self, messages: Messages, *, max_tokens: int, temperature: float = 0.0) -> Iterator[str]:
        """The reply piece by piece; one that was cut ends in a `Cut`. Retried only before the first piece.

        Raises ProviderError.
        """
        with self._time() as (seconds, calls):
            yield from self._meter.iterate(lambda: self._pieces(messages, max_tokens, temperature, calls), seconds)

    @contextmanager
    def _time(self) -> Iterator[tuple[float, set[PendingCall]]]:
        """The seconds there are for what is within, and its open calls. Those still open at its end were given up."""
        import langchain_openai  # noqa: F401  here: while the loop of all calls loads it, no other is answered

        left, calls = self._meter.left(), set[PendingCall]()
        seconds = left if left > 0 else REFUSAL_SECONDS
        try:
            yield seconds, calls
        except UnreachableError as error:
            if not calls:
                raise
            raise UnreachableError(f"gave no complete reply within {seconds:.0f} seconds.", who=self.id) from error
        finally:
            for call in tuple(calls):
                call.given_up()

    async def _many(
        self, schema: type[Parsed], each: Sequence[Messages], max_tokens: int, calls: set[PendingCall]
    ) -> AsyncIterator[tuple[int, Parsed | ProviderError, float]]:
        room = asyncio.Semaphore(self._model.parallel)

        async def one(place: int) -> tuple[int, Parsed | ProviderError, float]:
            async with room:
                began = time.monotonic()
                try:
                    found: Parsed | ProviderError = await self._object(schema, each[place], max_tokens, calls)
                except ProviderError as error:
                    found = error
                return place, found, time.monotonic() - began

        tasks = [asyncio.create_task(one(place)) for place in range(len(each))]
        try:
            for ready in asyncio.as_completed(tasks):
                yield await ready
        finally:
            for task in tasks:
                task.cancel()

    async def _object(
        self, schema: type[Parsed], messages: Messages, max_tokens: int, calls: set[PendingCall]
    ) -> Parsed:
        asked = list(messages)
        reply = await self._reply(asked, max_tokens, schema, calls)
        try:
            return read(schema, reply)
        except ReplyError as error:
            asked += [("ai", reply[:2000]), ("human", REPAIR.format(problem=error.message))]
        reply = await self._reply(asked, max_tokens, schema, calls)
        try:
            return read(schema, reply)
        except ReplyError as error:
            problem = f"replied in another form than it was asked for ({error.message})."
            raise ReplyError(problem, who=self.id) from error

    async def _reply(
        self, messages: Messages, max_tokens: int, schema: type[BaseModel] | None, calls: set[PendingCall]
    ) -> str:
        number = 0
        while True:
            number, habits = number + 1, self._model.habits
            try:
                with self._call(number, calls) as call:
                    bound = self._model.bound(max_tokens=max_tokens, schema=schema)
                    message = extract_message(await bound.ainvoke(list(messages)))
                    _count(call, message)
                    return text_of(message)[: max_tokens * TOKEN_CHARS]
            except ProviderError as failure:
                await self._again(failure, number, habits)

    async def _pieces(
        self, messages: Messages, max_tokens: int, temperature: float, calls: set[PendingCall]
    ) -> AsyncIterator[str]:
        number, started = 0, False
        while True:
            number, habits = number + 1, self._model.habits
            whole: Any = None
            speech, watch = Speech(), _Watch(max_tokens)
            try:
                with self._call(number, calls) as call:
                    async for piece in self._model.bound(max_tokens=max_tokens, temperature=temperature).astream(
                        list(messages)
                    ):
                        whole = piece if whole is None else whole + piece
                        if text := speech.heard(text_of(piece)):
                            started = True
                            said, cut = watch.take(text)
                            yield said
                            if cut:
                                yield cut  # what is left of the reply is not waited for
                                return
                    if text := speech.heard("", last=True):
                        started = True
                        yield text
                    if not started:
                        extract_message(whole)
                    _count(call, whole)
                    if problem := self._unfinished(whole, started):
                        raise problem
            except ProviderError as failure:
                if started:  # what was shown can't be taken back, so nothing is asked for again
                    raise
                await self._again(failure, number, habits)
                continue
            if whole.response_metadata["finish_reason"] == "length":
                yield Cut("cut")
            return

    def _unfinished(self, whole: Any, started: bool) -> ProviderError | None:
        """What is wrong with a stream that ended without an error."""
        if not started:
            return ReplyError("gave an empty reply.", who=self.id)
        if "finish_reason" not in whole.response_metadata:
            return UnreachableError("broke off in the middle.", who=self.id)
        return None

    @contextmanager
    def _call(self, attempt: int, others: set[PendingCall]) -> Iterator[PendingCall]:
        """One attempt. Raises ProviderError, with the client's own as its cause."""
        where = self._model.endpoint

        def ours(error: Exception) -> CragError:
            # A reply that was cut at its length was made and counted all the same.
            if isinstance(error, openai.LengthFinishReasonError) and (used := error.completion.usage):
                call.input_tokens, call.output_tokens = used.prompt_tokens, used.completion_tokens
            elif isinstance(error, ThoughtOnlyError):
                _count(call, error.reply)
            return translate_error(error, self.id)

        with self._meter.call(
            where.provider,
            where.model,
            service=Service(self.id, where.line),
            attempt=attempt,
            others=others,
            translate=ours,
        ) as call:
            yield call

    async def _again(self, failure: ProviderError, attempt: int, habits: tuple[frozenset[str], int]) -> None:
        """Waits where another attempt may help; raises the failure where none will."""
        error = failure.__cause__ or failure
        if not self._model.learned(error, habits):
            await wait_to_retry(failure, attempt, self._meter.clock)


async def wait_to_retry(failure: ProviderError, attempt: int, clock: Clock) -> None:
    """Wait where another attempt may help; raise the failure where none will."""
    error = failure.__cause__ or failure
    late = isinstance(error, (openai.APITimeoutError, httpx.TimeoutException))  # the time would be lost twice
    if late or attempt >= ATTEMPTS or not isinstance(failure, (BusyError, UnreachableError)):
        raise failure
    pause = FIRST_WAIT * 2 ** (attempt - 1) * random.uniform(0.5, 1.5)  # noqa: S311 - jitter, no secret
    await clock.pause(min(max(pause, retry_after(error)), LONGEST_WAIT))


class _Watch:
    """Looks at a reply as it comes, for what has no end."""

    def __init__(self, max_tokens: int) -> None:
        self._most, self._text, self._looked = max_tokens * TOKEN_CHARS, "", 0

    def take(self, piece: str) -> tuple[str, Cut | None]:
        """What of a piece there is room for, and why the reply is to be cut behind that, if it is."""
        said = piece[: self._most - len(self._text)]
        self._text += said
        if len(self._text) - self._looked >= LOOK:
            self._looked = len(self._text)
            if loop_in(self._text) is not None:
                return said, Cut("looped")
        return said, Cut("overlong") if len(said) < len(piece) else None


def _count(call: PendingCall, message: Any) -> None:
    """Tokens as the server counted them."""
    used = getattr(message, "usage_metadata", None) or {}
    call.input_tokens, call.output_tokens = used.get("input_tokens"), used.get("output_tokens")


def _thought(error: BaseException) -> bool:
    """Whether a model used up all its tokens before the first word of its reply."""
    if isinstance(error, openai.LengthFinishReasonError):
        return not any((choice.message.content or "").strip() for choice in error.completion.choices)
    return isinstance(error, ThoughtOnlyError)
