"""Who graded, wrote, rewrote or reranked: what the ids of models and evaluators are made of, and the words for them."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LOCAL = re.compile(r"local-\d+")
_SIZE = re.compile(r"(?:(\d{1,2})x)?(\d{1,4}(?:\.\d{1,3})?)b(?![a-z\d])|\d{3}m(?![a-z\d])", re.IGNORECASE)
"""A number of parameters, as names have it: 7b, 8x7b, 1.5B, 350m."""
SMALL = 8.0
"""Billions of parameters, below which a model is small."""
SERVED = ("openai-compatible", "openai", "reranker", "gguf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Maker:
    """A model and who serves it; `role` is what it does beside chatting. `host` is empty for a provider's own server,
    and the mark of its content for a model file, which this machine runs.

    Its id is PROVIDER:MODEL[@HOST], with ROLE: before it, and behind it a grader's version of the prompt and its task.
    """

    model: str
    provider: str = ""
    host: str = ""
    role: str = ""

    @property
    def id(self) -> str:
        """As grades are kept by it."""
        return f"{self.provider}:{self.model}" + (f"@{self.host}" if self.host else "")

    @property
    def place(self) -> str:
        """Where it is served; empty where it needs no server."""
        return {"openai": "OpenAI", "gguf": "this machine"}.get(self.provider, self.host)

    @property
    def is_small(self) -> bool:
        """Whether it reads little and slowly: a model file, or one whose name says that it is under 8 B."""
        sizes = [float(size or 0.1) * int(times or 1) for times, size in _SIZE.findall(self.model)]
        return self.provider == "gguf" or (bool(sizes) and max(sizes) < SMALL)

    @classmethod
    def of(cls, id: str) -> Maker:
        """What an id is made of; one of another form is a name."""
        role, _, rest = id.partition(":")
        if role == "llm":
            rest, _, version = rest.rpartition(":")
            rest = rest.rpartition(":")[0] if version == "support" else rest
        elif role != "reranker" or not rest.startswith("reranker:"):
            role, rest = "", id
        provider, _, name = rest.partition(":")
        if provider not in SERVED:
            named = "the local evaluator" if _LOCAL.fullmatch(id) else id
            return cls(model=named or "the evaluator")
        model, at, host = name.rpartition("@")
        if not at or provider == "openai":
            model, host = name, ""
        return cls(model=model or "the model", provider=provider, host=host, role=role)


def maker(id: str) -> str:
    """Who that is, apart: "qwen, at 127.0.0.1:8080"; an unknown id as it is."""
    return _in_words(id, ", at ")


def name_in_sentence(id: str) -> str:
    """The same inside a sentence: "qwen at 127.0.0.1:8080"."""
    return _in_words(id, " at ")


def _in_words(id: str, at: str) -> str:
    found = Maker.of(id)
    at = at.replace("at", "on") if found.provider == "gguf" else at
    return at.join(filter(None, (found.model, found.place)))


def about(cause: str | None, who: str) -> str:
    """What failed, with the model that it is said of; empty of nothing."""
    return f"{name_in_sentence(who)} {cause}" if who and cause else cause or ""
