"""Corrective RAG in LangChain's own forms: middleware, retriever and tool over one engine."""

try:
    from crag.integrations.langchain.agents import CragMiddleware, crag_tool
    from crag.integrations.langchain.runs import CragEmbeddings, CragRetriever, retriever_of
    from crag.integrations.langchain.state import Correction, CragState, Problem, Source
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("langchain", "langgraph", "langchain_core"):
        raise
    raise ImportError(f"{__name__} needs LangChain: pip install '.[langchain]'") from error

__all__ = [
    "Correction",
    "CragEmbeddings",
    "CragMiddleware",
    "CragRetriever",
    "CragState",
    "Problem",
    "Source",
    "crag_tool",
    "retriever_of",
]
