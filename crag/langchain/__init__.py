"""Corrective RAG in LangChain's own forms: middleware, retriever, compressor and tool over one engine."""
