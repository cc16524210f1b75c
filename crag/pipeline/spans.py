"""A finished run as OpenTelemetry spans, where the person has installed and set up OpenTelemetry; else nothing.

Spans are one more fold over the run's events: their times are the events' own. No question, text, answer or key is in
them. Names of attributes follow the semantic conventions for generative AI where these have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from crag.core import events as ev
from crag.core.trace import Trace
from crag.core.types import Call


def export_spans(trace: Trace, events: Sequence[ev.Event]) -> None:
    """Ends one span for the run, one a step within it, one a call within its step."""
    try:
        from opentelemetry import trace as telemetry
    except ImportError:
        return
    tracer = telemetry.get_tracer("crag")
    began = int(datetime.fromisoformat(trace.started_at).timestamp() * 1e9)

    def moment(seconds: float) -> int:
        return began + int(seconds * 1e9)

    def span(name: str, start: float, end: float, attributes: dict[str, Any], inside: Any = None) -> Any:
        context = telemetry.set_span_in_context(inside) if inside is not None else None
        made = tracer.start_span(name, context=context, attributes=attributes, start_time=moment(start))
        if attributes.get("error.type"):
            made.set_status(telemetry.StatusCode.ERROR)
        made.end(moment(end))
        return made

    run = span("crag.pipeline", 0.0, trace.seconds, _run(trace))
    visits = [
        (step, span(f"crag.{step.step}", step.started, _end(step.started, step.seconds, trace), {}, run))
        for step in trace.steps
    ]
    for event in events:
        if isinstance(event, ev.Called):
            call = event.call
            start = max(0.0, event.at - call.seconds)
            owner = next((made for step, made in reversed(visits) if step.step == call.step), run)
            span(f"{_operation(call)} {call.model or call.provider}".strip(), start, event.at, _call(call), owner)


def _end(started: float, seconds: float | None, trace: Trace) -> float:
    return trace.seconds if seconds is None else started + seconds


def _run(trace: Trace) -> dict[str, Any]:
    found: dict[str, Any] = {
        "crag.run_id": trace.run_id,
        "crag.strategy": trace.strategy,
        "crag.action": str(trace.action or ""),
        "crag.rewrites": len(trace.rewrites),
        "crag.searches": len(trace.searches),
    }
    if trace.failure:
        found["error.type"] = trace.failure.step
    return found


def _operation(call: Call) -> str:
    return "chat" if call.model else "search"


def _call(call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {"gen_ai.provider.name": call.provider, "crag.attempt": call.attempt}
    if call.model:
        found |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": call.model}
    if call.input_tokens is not None:
        found["gen_ai.usage.input_tokens"] = call.input_tokens
    if call.output_tokens is not None:
        found["gen_ai.usage.output_tokens"] = call.output_tokens
    if call.error:
        found["error.type"] = "provider"
    return found
