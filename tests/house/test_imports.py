"""The house: which room may import which, what no engine module imports, and requirements that match the imports."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.product import ROOT, modules, nodes_of, tree_of

# room -> the other rooms of crag that it may import. Steps never import one another.
CRAG = {
    "text": set(),
    "core": {"text"},
    "models": {"text", "core"},
    "ingest": {"text", "core"},
    "index": {"text", "core"},
    "library": {"text", "core", "index"},
    "evaluator": {"text", "core", "models"},
    "correct": {"text", "core"},
    "conversation": {"text", "core"},
    "web": {"text", "core"},
    "generate": {"text", "core"},
    "export": {"text", "core", "evaluator", "generate"},
    "providers": {"text", "core", "evaluator", "web"},
    "testing": {"text", "core", "index", "generate"},
    "strategies": {"text", "core"},
    "sample": {"text", "core"},
    "questions": {"text", "core"},
    "metrics": {"text", "core", "questions"},
    "spending": {"text", "core", "providers"},
    "comparing": {"text", "core", "spending"},
    "whatif": {"text", "core", "evaluator", "correct"},
    "thresholds": {"text", "core", "evaluator", "questions", "whatif"},
    "teams": {"text", "core", "library"},
    "limits": {"text", "core", "library", "spending", "teams"},
    "sharing": {"core", "library", "teams", "limits"},
    "monitoring": {"text", "core", "library", "providers", "spending"},
    "run": {
        *("text", "core", "providers", "spending", "library", "ingest", "evaluator", "correct", "web", "generate"),
        *("conversation", "limits"),
    },
    "engine": {
        *("text", "core", "models", "index", "library", "evaluator", "correct", "web", "generate", "providers"),
        *("strategies", "sample", "run", "sharing"),
    },
    "gaps": {"text", "core", "ingest", "library"},
    "moving": {"core", "index", "library", "providers"},
    "backup": {"core", "index", "library", "providers", "teams", "moving"},
    "evaluation": {"text", "core", "library", "questions", "metrics", "spending", "engine", "run", "strategies"},
    "langchain": {
        *("text", "core", "conversation", "correct", "engine", "evaluator", "generate", "run", "strategies", "export"),
    },
    "mcp": {"text", "core", "conversation", "engine", "ingest", "run", "strategies", "export"},
    "server": {
        *("text", "core", "conversation", "engine", "ingest", "library", "monitoring", "run", "spending"),
        *("strategies", "export"),
    },
    "cli": {
        "text",
        "core",
        "ingest",
        "conversation",
        "strategies",
        "evaluator",
        "engine",
        "gaps",
        "moving",
        "backup",
        "evaluation",
        "questions",
        "metrics",
        "spending",
        "providers",
        "teams",
        "export",
        "mcp",
        "server",
        "library",
        "limits",
    },
    "__main__": {"cli"},
}

# room -> the other rooms of ui that it may import.
UI = {
    "kit": set(),
    "app": {"kit"},
    "edge": {"kit", "app"},
    "run": {"kit", "app"},
    "signin": {"kit", "app"},
    "documents": {"kit", "app", "run"},
    "compare": {"kit", "app", "run"},
    "ask": {"kit", "app", "run", "documents", "compare"},
    "tune": {"kit", "app", "run"},
    "evaluate": {"kit", "app", "run", "documents"},
    "monitor": {"kit", "app", "run"},
    "settings": {"kit", "app", "run"},
    "administration": {"kit", "app", "run", "settings"},
}

# Outside crag only the pure parts of a step may be used beside the engine.
PURE = {
    "crag.generation.conversation.history",
    "crag.evaluation.trigger",
    "crag.generation.disagreements",
    "crag.generation.verification",
    "crag.evaluation.keeping",
    "crag.evaluation.strip_dependencies",
    "crag.evaluation.refinement",
    "crag.evaluation.scoring",
    "crag.evaluation.strips",
    "crag.ingest.media",
}

# The steps of a run and all that is computed from stored ones; only wiring makes parts that do work.
ORCHESTRATION = ("crag.pipeline.steps", "crag.pipeline.graph", "crag.pipeline.context", "crag.pipeline.fallback")

OUTER = {"crag": set(), "ui": {"crag"}, "pages": {"crag", "ui"}, "app.py": {"crag", "ui", "pages"}}

FORBIDDEN = {"streamlit", "torch", "pickle", "cPickle", "dill", "shelve", "marshal", "langchain_community"}


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Full names of all modules that a file imports, at its top or anywhere inside."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    package = path.relative_to(ROOT).parent.parts
    for node in nodes_of(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join((*package[: len(package) - node.level + 1], *filter(None, [node.module])))
            origin = base if node.level else node.module or ""
            yield origin
            # `from crag import steps` imports a module too
            yield from (f"{origin}.{alias.name}" for alias in node.names if is_module(f"{origin}.{alias.name}"))


@cache
def is_module(name: str) -> bool:
    place = ROOT.joinpath(*name.split("."))
    return place.is_dir() or place.with_suffix(".py").is_file()


def room_of(name: str, package: str = "crag") -> str | None:
    """The room of a module of the package; None for the package itself and for anything else."""
    parts = name.split(".")
    return parts[1] if parts[0] == package and len(parts) > 1 and is_module(".".join(parts[:2])) else None


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize(("package", "table"), [("crag", CRAG), ("ui", UI)])
def test_every_room_is_in_the_table(package: str, table: dict[str, set[str]]) -> None:
    rooms = {room_of(name_of(path), package) for path in modules()} - {None, "__init__"}
    assert rooms == set(table)


@pytest.mark.parametrize("table", [CRAG, UI])
def test_the_rooms_stand_in_one_order(table: dict[str, set[str]]) -> None:
    """Each imports only rooms above it in the table: no circle."""
    above: set[str] = set()
    for room, others in table.items():
        assert others <= above, room
        above.add(room)


@pytest.mark.parametrize(("package", "table"), [("crag", CRAG), ("ui", UI)])
def test_a_room_imports_only_what_it_may(package: str, table: dict[str, set[str]]) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if (room := room_of(name_of(path), package)) in table
        for name in imported(path)
        if (other := room_of(name, package)) and other != room and other not in table[room]
    ]
    assert not wrong


def test_what_decides_uses_only_the_pure_parts_of_the_steps() -> None:
    """Steps that do work arrive as protocols; a decision, a filter and a count are functions anybody may call."""
    pure = {"questions", "metrics", "whatif", "thresholds", "comparing", "spending", "cli"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if room_of(name_of(path)) in pure or name_of(path) in ORCHESTRATION
        for name in imported(path)
        if room_of(name) in {"evaluator", "correct", "web", "generate", "ingest", "library", "models"}
        if is_module(name) and name not in PURE and f"{name}.".count(".") > 2
    ]
    assert not wrong


def test_pages_build_on_ui_and_ui_on_the_engine() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        for layer in [path.relative_to(ROOT).parts[0]]
        for name in imported(path)
        if (other := name.split(".")[0]) in OUTER and other != layer and other not in OUTER[layer]
    ]
    assert not wrong


def test_the_engine_knows_no_user_interface_no_torch_and_no_pickle() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.relative_to(ROOT).parts[0] == "crag"
        for name in imported(path)
        if name.split(".")[0] in FORBIDDEN
    ]
    assert not wrong


@pytest.mark.parametrize("file", ["ui", "pages", "app.py"])
def test_the_app_needs_no_torch_and_no_pickle_either(file: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in modules()
        if path.relative_to(ROOT).parts[0] == file
        for name in imported(path)
        if name.split(".")[0] in FORBIDDEN - {"streamlit"}
    ]
    assert not wrong


# ---- requirements --------------------------------------------------------------------------------------------------

DISTRIBUTIONS = {
    "faiss": "faiss-cpu",
    "tavily": "tavily-python",
    "yaml": "pyyaml",
    "PIL": "pillow",
    "docx": "python-docx",
    "pptx": "python-pptx",
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
}

OPTIONAL = {
    "opentelemetry",
    "pymilvus",
    "milvus-lite",
    "grpc",
    "rapidocr",
    "opencv-python-headless",
    "xllamacpp",
    *("mcp", "mcp-types", "anyio"),
}
"""Used where a person has it; Milvus, text recognition, model files and MCP by extras of their own."""

EXTRAS = ("langchain", "mcp", "server")
"""Rooms of `crag` that need an extra of the same name."""

FIXED = {"lxml-html-clean"}
"""Not imported by the product: trafilatura needs it."""


def required(name: str) -> dict[str, str]:
    """Package -> range, of a requirements file and those it names."""
    found: dict[str, str] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("-r "):
            found |= required(str(Path(name).parent / line.removeprefix("-r ")))
        elif pair := re.fullmatch(r"([A-Za-z0-9_.-]+)\s*([<>=!~].*)", line):
            found[pair[1].lower().replace("_", "-")] = pair[2]
    return found


def packages(paths: Iterable[Path]) -> set[str]:
    """The distributions that these files import, but for optional ones."""
    own = {"crag", "ui", "pages"}
    tops = {name.split(".")[0] for path in paths for name in imported(path)} - own - sys.stdlib_module_names
    return {DISTRIBUTIONS.get(top, top).replace("_", "-").lower() for top in tops} - OPTIONAL


def test_the_requirements_are_what_the_product_imports() -> None:
    imports, listed = packages(modules()), set(required("requirements.txt"))
    assert imports - listed == set(), "imported but not required"
    assert listed - imports - FIXED - OPTIONAL == set(), "required but not imported"


def test_the_engine_the_app_and_the_contract_suites_each_require_what_they_import() -> None:
    contracts = [path for path in modules() if path.name.endswith("_contract.py")]
    extras = {name: [path for path in modules() if path.is_relative_to(ROOT / "crag" / name)] for name in EXTRAS}
    scraped = [ROOT / "crag" / "monitoring" / "metrics.py"]  # for the app and the server, which both require it
    extras["server"] += scraped
    apart = {*contracts, *(path for paths in extras.values() for path in paths)}
    engine = [path for path in modules() if path.relative_to(ROOT).parts[0] == "crag" and path not in apart]
    app = [*scraped, *(path for path in modules() if path.relative_to(ROOT).parts[0] != "crag")]
    own, base = packages(engine), set(required("requirements/engine.txt"))
    assert own <= base <= own | FIXED
    assert packages(contracts) - base == set(required("requirements/testing.txt"))
    assert packages(app) - base == set(required("requirements/app.txt"))
    for name, paths in extras.items():
        assert packages(paths) - base <= {*required(f"requirements/{name}.txt")}, name


def test_the_locks_hold_one_tested_version_of_each_requirement() -> None:
    from packaging.requirements import Requirement

    for lock, files in {
        "requirements/run.lock": ["requirements/run.txt"],
        "requirements/dev.lock": ["requirements.txt", "requirements/dev.txt"],
    }.items():
        pins = [line for line in (ROOT / lock).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        locked = {pin.name: pin.specifier for pin in map(Requirement, pins)}
        assert len(locked) == len(pins)
        for file in files:
            for name, range_ in required(file).items():
                version = str(next(iter(locked[name]))).removeprefix("==")
                assert Requirement(f"{name}{range_}").specifier.contains(version), f"{lock}: {name} {version}"
    assert "pytest" not in (ROOT / "requirements" / "run.lock").read_text(encoding="utf-8"), (
        "no tests where it is served"
    )
