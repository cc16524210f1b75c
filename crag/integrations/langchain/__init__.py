"""Corrective RAG in LangChain's own forms: middleware, retriever and tool over one engine."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crag.integrations.langchain.agents import CragMiddleware as CragMiddleware
    from crag.integrations.langchain.agents import crag_tool as crag_tool
    from crag.integrations.langchain.runs import CragEmbeddings as CragEmbeddings
    from crag.integrations.langchain.runs import CragRetriever as CragRetriever
    from crag.integrations.langchain.runs import retriever_of as retriever_of
    from crag.integrations.langchain.state import Correction as Correction
    from crag.integrations.langchain.state import CragState as CragState
    from crag.integrations.langchain.state import Problem as Problem
    from crag.integrations.langchain.state import Score as Score
    from crag.integrations.langchain.state import Source as Source

_MODULES = {
    "CragEmbeddings": "runs",
    "CragMiddleware": "agents",
    "CragRetriever": "runs",
    "crag_tool": "agents",
    "retriever_of": "runs",
    **dict.fromkeys(("Correction", "CragState", "Problem", "Score", "Source"), "state"),
}


def __getattr__(name: str) -> Any:
    """A public name, from its module: only who uses it needs LangChain. Raises ImportError without the extra."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("langchain", "langgraph", "langchain_core"):
            raise
        raise ImportError(f"crag.integrations.langchain.{name} needs LangChain: pip install '.[langchain]'") from error
