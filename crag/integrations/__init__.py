"""The engine inside other programs: LangChain, the Model Context Protocol, HTTP."""
