"""What a request passes on its way: rates, turns, a client that goes, and work that is stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from starlette.requests import Request
from starlette.types import Message

from crag.core.access import Access, Caller
from crag.engine import Engine
from crag.server.bodies import pieces
from crag.server.limits import Gate, Limits, Rates
from crag.server.problems import Problem
from crag.server.serving import Call, Serving

ONE, TWO = Caller(number=1, workspace="alpha"), Caller(number=2, workspace="beta")


def test_a_bucket_is_filled_again_within_a_minute() -> None:
    now = [0.0]
    rates = Rates(60, lambda: now[0])
    for _ in range(60):
        rates.take(ONE)
    with pytest.raises(Problem) as caught:
        rates.take(ONE)
    assert caught.value.headers["Retry-After"] == "1"
    rates.take(TWO)
    now[0] = 1.0
    rates.take(ONE)
    with pytest.raises(Problem):
        rates.take(ONE)
    now[0] = 10_000.0
    for _ in range(60):
        rates.take(ONE)
    with pytest.raises(Problem):
        rates.take(ONE)


def test_some_are_worked_on_some_wait_in_order_and_the_rest_is_turned_away() -> None:
    async def scenario() -> None:
        gate, order, over = Gate(Limits(at_once=1, waiting=2, each=3)), list[int](), asyncio.Event()

        async def request(number: int, caller: Caller = TWO) -> None:
            async with gate.passed(caller):
                order.append(number)
                await over.wait()

        tasks = [asyncio.create_task(request(number)) for number in range(3)]
        await asyncio.sleep(0)
        assert order == [0]
        for caller, status in ((TWO, 429), (ONE, 503)):
            with pytest.raises(Problem) as caught:
                await request(9, caller)
            assert caught.value.status == status and int(caught.value.headers["Retry-After"]) >= 1
        tasks[1].cancel()  # its client has gone: its place is free again
        await asyncio.sleep(0)
        late = asyncio.create_task(request(3))
        await asyncio.sleep(0)
        over.set()
        await asyncio.gather(*tasks, late, return_exceptions=True)
        assert order == [0, 2, 3]

    asyncio.run(scenario())


def test_those_who_wait_when_the_server_ends_are_told() -> None:
    async def scenario() -> None:
        gate, over = Gate(Limits(at_once=1, waiting=2)), asyncio.Event()

        async def request() -> None:
            async with gate.passed(ONE):
                await over.wait()

        first, waits = asyncio.create_task(request()), asyncio.create_task(request())
        await asyncio.sleep(0)
        gate.closing = True
        over.set()
        await first
        with pytest.raises(Problem, match="about to end"):
            await waits
        with pytest.raises(Problem, match="about to end"):
            await request()

    asyncio.run(scenario())


def _request(messages: AsyncIterator[Message], headers: dict[str, str] | None = None) -> Request:
    async def receive() -> Message:
        return await anext(messages)

    raw = [(name.lower().encode(), value.encode()) for name, value in (headers or {}).items()]
    return Request({"type": "http", "method": "POST", "path": "/", "query_string": b"", "headers": raw}, receive)


def test_a_client_that_goes_stops_the_work_that_was_for_it(engine: Engine) -> None:
    async def scenario() -> None:
        begun = asyncio.Event()

        async def messages() -> AsyncIterator[Message]:
            await begun.wait()
            yield {"type": "http.disconnect"}

        serving, loop = Serving.of(engine, Access(), Limits()), asyncio.get_running_loop()
        call = Call(serving=serving, request=_request(messages()), caller=ONE)

        def job() -> bool:
            loop.call_soon_threadsafe(begun.set)
            return call.cancel.wait(30)

        assert await call.work(job)
        serving.work.wait()

    asyncio.run(scenario())


def test_work_under_way_is_stopped_and_waited_for(engine: Engine) -> None:
    async def scenario() -> None:
        begun = threading.Event()

        async def messages() -> AsyncIterator[Message]:
            await asyncio.Event().wait()
            yield {"type": "http.disconnect"}

        serving = Serving.of(engine, Access(), Limits())
        call = Call(serving=serving, request=_request(messages()), caller=ONE)

        def job() -> bool:
            begun.set()
            return call.cancel.wait(30)

        working = asyncio.create_task(call.work(job))
        await asyncio.to_thread(begun.wait, 30)
        serving.work.stop()
        await asyncio.to_thread(serving.work.wait)
        assert await working

    asyncio.run(scenario())


def test_a_body_is_read_no_further_than_it_may_be() -> None:
    async def scenario() -> None:
        sent = 0

        async def messages() -> AsyncIterator[Message]:
            nonlocal sent
            while True:
                sent += 1
                yield {"type": "http.request", "body": b"x" * 40, "more_body": True}

        async def read(headers: dict[str, str] | None = None) -> Problem:
            with pytest.raises(Problem) as caught:
                async for _ in pieces(_request(messages(), headers), 100, Limits()):
                    pass
            return caught.value

        assert (await read({"Content-Length": "101"})).status == 413 and sent == 0
        assert (await read()).status == 413 and sent == 3

        async def still() -> AsyncIterator[Message]:
            await asyncio.Event().wait()
            yield {}

        for limits in (Limits(idle_seconds=0.01), Limits(body_seconds=0.01)):
            with pytest.raises(Problem) as caught:
                async for _ in pieces(_request(still()), 100, limits):
                    pass
            assert caught.value.status == 408 and caught.value.headers == {"Connection": "close"}

    asyncio.run(scenario())
