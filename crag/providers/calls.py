"""One call of a chat model while it runs."""

from __future__ import annotations

import time
from typing import Any

import openai

from crag.core.errors import CragError, ProviderError
from crag.core.meter import Call, Meter
from crag.providers.endpoint import Endpoint
from crag.providers.replies import ThoughtOnlyError
from crag.providers.translation import translated

__all__ = ["OpenCall"]


class OpenCall:
    """One call while it runs; tells the meter, once, how it ended. It is among `others` as long as it is open."""

    def __init__(self, endpoint: Endpoint, meter: Meter, attempt: int, others: set[OpenCall]) -> None:
        self._endpoint, self._meter, self.attempt, self._open = endpoint, meter, attempt, others
        self._began = time.monotonic()
        others.add(self)

    def ended(self, message: Any, problem: ProviderError | None = None) -> None:
        used = getattr(message, "usage_metadata", None) or {}
        self._record(used.get("input_tokens"), used.get("output_tokens"), problem.message if problem else None)

    def given_up(self) -> None:
        self._record(None, None, f"{self._endpoint.id} was given up before its reply was complete.")

    def failed(self, error: Exception) -> CragError:
        found = translated(error, self._endpoint.id)
        self._record(*_counted(error), found.message)
        return found

    def _record(self, given: int | None, written: int | None, error: str | None) -> None:
        try:
            self._open.remove(self)
        except KeyError:  # given up in one thread when it had ended in the other
            return
        self._meter.record(
            Call(
                step=self._meter.step,
                provider=self._endpoint.provider,
                model=self._endpoint.model,
                seconds=time.monotonic() - self._began,
                input_tokens=given,
                output_tokens=written,
                attempt=self.attempt,
                error=error,
            )
        )


def _counted(error: Exception) -> tuple[int | None, int | None]:
    """Tokens in and out of a reply that was cut at its length: it was made and counted all the same."""
    if isinstance(error, openai.LengthFinishReasonError) and (used := error.completion.usage):
        return used.prompt_tokens, used.completion_tokens
    if isinstance(error, ThoughtOnlyError):
        known = getattr(error.reply, "usage_metadata", None) or {}
        return known.get("input_tokens"), known.get("output_tokens")
    return None, None
