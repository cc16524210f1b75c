"""The keys of outside services: in memory or the environment, never in a file, a log or an export of ours."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from pydantic import SecretStr

__all__ = ["VARIABLES", "Keys"]

VARIABLES = {
    "llm": ("CRAG_LLM_KEY",),
    "openai": ("OPENAI_API_KEY",),
    "rerank": ("CRAG_RERANK_KEY",),
    "tavily": ("CRAG_TAVILY_KEY", "TAVILY_API_KEY"),
}
"""Where each key is looked for in the environment, the first that is set."""


@dataclass(frozen=True, slots=True)
class Keys:
    """None: no such key. Their text forms show that there is one and never which.

    `llm` goes to the configured model server, whichever it is; `openai` to OpenAI's own service and nowhere else.
    """

    llm: SecretStr | None = None
    openai: SecretStr | None = None
    rerank: SecretStr | None = None
    tavily: SecretStr | None = None

    @classmethod
    def from_mapping(cls, source: Mapping[str, object] | None = None) -> Keys:
        """The keys among environment variables (the process's own, if not given) or a secrets file's entries."""
        known: Mapping[str, object] = os.environ if source is None else source
        return cls(**{name: _first(known, variables) for name, variables in VARIABLES.items()})

    def over(self, others: Keys) -> Keys:
        """These keys, and the others' where there is none here."""
        missing = {each.name: getattr(others, each.name) for each in fields(self) if getattr(self, each.name) is None}
        return replace(self, **missing)


def _first(source: Mapping[str, object], variables: tuple[str, ...]) -> SecretStr | None:
    for variable in variables:
        value = source.get(variable)
        if isinstance(value, str) and value.strip():
            return SecretStr(value.strip())
    return None
