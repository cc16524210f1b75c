"""The house: the public names, pinned, and what importing costs."""

import subprocess
import sys

PUBLIC = {
    *("Engine", "AppConfig", "Settings", "Strategy", "STRATEGIES"),
    *("Action", "Answer", "Chunk", "Citation", "Document", "Grade", "RetrievedChunk", "RunRequest", "Strip", "Trace"),
    *("CragError", "errors", "events", "__version__", "rank_texts"),
    *("Comparison", "Configuration", "EvaluationResult", "Question", "compare", "evaluate"),
}


def test_the_public_names_are_these() -> None:
    import crag

    assert len(crag.__all__) == len(PUBLIC) and set(crag.__all__) == PUBLIC
    assert all(hasattr(crag, name) for name in PUBLIC)


def loaded_by(statement: str) -> set[str]:
    """The modules in memory after a statement, in a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


CLIENTS = {
    *("langgraph", "langchain_core", "langchain_openai", "langsmith", "openai", "requests", "genai_prices"),
    *("httpx", "httpcore", "ddgs", "primp", "tavily", "rich", "pymilvus"),
}
"""Clients of services, and what only they need."""
HEAVY = {*CLIENTS, "faiss", "onnxruntime", "tokenizers", "pdfplumber", "streamlit", "pandas", "torch", "matplotlib"}


def test_importing_the_package_loads_nothing_and_its_fakes_no_test_framework() -> None:
    assert loaded_by("import crag") & {*HEAVY, "numpy", "pydantic"} == set()
    assert "pytest" not in loaded_by("import crag.testing.fakes")


def test_the_command_line_s_help_loads_nothing_heavy() -> None:
    assert loaded_by("from crag.cli.main import main; main(['--help'])") & {*HEAVY, "numpy", "pydantic"} == set()


def test_the_engine_s_name_loads_no_part_of_it() -> None:
    parts = {f"crag.{each}" for each in ("admin", "evaluation", "generation", "index", "ingest", "models", "storage")}
    assert loaded_by("from crag import Engine") & {*HEAVY, *parts, "numpy", "sqlalchemy", "lxml"} == set()


ANSWER = """
import tempfile
from crag import AppConfig, Engine, RunRequest, rank_texts
class Terms:
    def search(self, query, k):
        return rank_texts([("The warranty ends two years after delivery.", "terms.txt")])
with tempfile.TemporaryDirectory() as folder, Engine(AppConfig.of(data=folder)) as engine:
    assert "two years" in engine.answer(RunRequest("How long is the warranty?", retriever=Terms())).text
"""


def test_an_answer_without_a_model_loads_no_client_and_no_reader_of_files() -> None:
    readers = {"crag.ingest.reader", "crag.web.webpage", "crag.web.fetching", "lxml", "pdfplumber"}
    assert loaded_by(ANSWER) & {*CLIENTS, *readers, "streamlit", "torch", "matplotlib", "pandas"} == set()
