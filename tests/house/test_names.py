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
    """The top-level packages in memory after a statement, in a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


HEAVY = {"faiss", "onnxruntime", "tokenizers", "langgraph", "langchain_core", "pdfplumber", "streamlit", "pandas"}


def test_importing_the_package_loads_nothing() -> None:
    assert loaded_by("import crag") & {*HEAVY, "numpy", "pydantic"} == set()


def test_the_command_line_s_help_loads_nothing_heavy() -> None:
    assert (
        loaded_by("from crag.cli.main import main; main(['--help'])") & {*HEAVY, "numpy", "pydantic", "rich"} == set()
    )


CLIENTS = {"langgraph", "langgraph_sdk", "langchain_core", "langchain_openai", "langsmith", "openai", "requests"}
ANSWER = """
import tempfile
from crag import AppConfig, Engine, RunRequest, rank_texts
class Terms:
    def search(self, query, k):
        return rank_texts([("The warranty ends two years after delivery.", "terms.txt")])
with tempfile.TemporaryDirectory() as folder, Engine(AppConfig.of(data=folder)) as engine:
    assert "two years" in engine.answer(RunRequest("How long is the warranty?", retriever=Terms())).text
"""


def test_an_answer_without_a_model_loads_no_client_of_one() -> None:
    assert loaded_by(ANSWER) & CLIENTS == set()


def test_the_engine_runs_without_a_user_interface_or_torch() -> None:
    assert loaded_by("import crag.engine") & {"streamlit", "torch", "matplotlib", "openai", "langgraph"} == set()
