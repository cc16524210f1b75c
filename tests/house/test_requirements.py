"""The requirements match what the product imports. Import direction is checked by `lint-imports`."""

import ast
import re
import sys
from pathlib import Path

from tests.support.product import ROOT, modules, nodes_of, tree_of

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


def packages() -> set[str]:
    """The distributions that the product imports, at the top of a module or anywhere inside, but for optional ones."""
    tops: set[str] = set()
    for node in (node for path in modules() for node in nodes_of(tree_of(path))):
        if isinstance(node, ast.Import):
            tops |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            tops.add(node.module.split(".")[0])
    tops -= {"crag", "ui", "pages", *sys.stdlib_module_names}
    return {DISTRIBUTIONS.get(top, top).replace("_", "-").lower() for top in tops} - OPTIONAL


def test_the_requirements_are_what_the_product_imports() -> None:
    imports, listed = packages(), set(required("requirements.txt"))
    assert imports - listed == set(), "imported but not required"
    assert listed - imports - FIXED - OPTIONAL == set(), "required but not imported"


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
