"""The requirements match what the product imports. Import direction is checked by `lint-imports`."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.support.product import ROOT, modules, nodes_of, tree_of


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
    "keyring",
    *("mcp", "mcp-types", "anyio"),
}
"""Used where a person has it; Milvus, text recognition, model files, keyring and MCP by extras of their own."""

EXTRAS = {"langchain": "langchain", "mcp": "mcp", "server": "http"}
"""Extra -> the package of `crag.integrations` that needs it."""

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
    contracts = [path for path in modules() if path.name.endswith(("_contract.py", "contracts.py"))]
    extras = {
        name: [path for path in modules() if path.is_relative_to(ROOT / "crag" / "integrations" / place)]
        for name, place in EXTRAS.items()
    }
    scraped = [
        ROOT / "crag" / "analysis" / "monitoring" / "metrics.py"
    ]  # for the app and the server, which both require it
    served = [ROOT / "crag" / "integrations" / "process.py"]  # for both servers, which both require it
    extras["server"] += [*scraped, *served]
    extras["mcp"] += served
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
