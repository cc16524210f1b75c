"""The house: no style that nothing is drawn with, no function or class that nothing uses."""

import re

import pytest

from tests.support.product import ROOT, modules

CODE = (
    "app.py",
    "benchmarks",
    "corpora",
    "crag",
    "deploy",
    "docs",
    "examples",
    "pages",
    "setup.py",
    "tests",
    "training",
    "ui",
)
DECORATED = ["@app.*", "@router.*", "@*_validator*", "@pytest.fixture*", "@memory.on_deletion"]
BY_OTHERS = [
    *("__getattr__", "__call__", "pytest_*", "do_*", "handle_*", "on_*", "log_message", "*settings_customise_sources"),
    *("*before_model", "*wrap_model_call", "*get_relevant_documents", "bind_tools", "*get_*_embedding"),
    *("load_dialect_impl", "bind_processor", "result_processor", "result_type"),
    *("connect_unix_socket", "intercept_service"),
]
"""What other packages call."""
BY_NAME = [
    "mcp",
    "read_csv",
    "read_markdown",
    "read_sheets",
    "read_slides",
    "read_xlsx",
    "reindex",
    "_setting",
    "_upload",
]
"""What our code finds by a text: a command, readers, what users of the soak do."""
KINDS = {"class", "function", "method", "property"}


def test_every_style_is_drawn_with() -> None:
    styles = (ROOT / "crag" / "export" / "html" / "static" / "style.css").read_text(encoding="utf-8")
    selectors = re.sub(r"\{[^{}]*\}", " ", re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL))
    code = [*modules(), *(path for folder in ("ui", "crag") for path in (ROOT / folder).rglob("*.js"))]
    words = {word for path in code for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}
    ours = {name.removeprefix("st-key-") for name in re.findall(r"\.([A-Za-z_][\w-]*)", selectors)}
    numbered = re.compile(r"s\d|st[A-Z]\w+")  # the classes of an opacity, and Streamlit's own
    assert {name for name in ours - words if not numbered.fullmatch(name)} == set()


@pytest.mark.slow
def test_every_function_and_class_is_used() -> None:
    from vulture import Vulture

    found = Vulture(ignore_names=BY_OTHERS + BY_NAME, ignore_decorators=DECORATED)
    found.scavenge([str(ROOT / name) for name in CODE])
    unused = [each for each in found.get_unused_code() if each.typ in KINDS]
    assert [f"{each.filename}:{each.first_lineno} {each.name}" for each in unused] == []
