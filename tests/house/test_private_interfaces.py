"""What the product takes from other packages beside their public interfaces: bounded versions, and parts as needed.

Ruff forbids Streamlit's private modules (`banned-api` in pyproject.toml) but for two files; the tests of what is built
on the others fail where one has changed.
"""

import pytest
from packaging.requirements import Requirement

from tests.support.product import ROOT
from ui.components import script_context
from ui.server import headers


@pytest.mark.parametrize(
    "package", ["ddgs", "faiss-cpu", "httpx", "langchain-openai", "openpyxl", "pypdfium2", "streamlit", "tantivy"]
)
def test_each_such_package_is_required_up_to_a_version(package: str) -> None:
    files = (ROOT / "requirements" / f"{name}.txt" for name in ("engine", "app"))
    lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    (found,) = (Requirement(line) for line in lines if line and line[0] != "#" and Requirement(line).name == package)
    assert any(each.operator == "<" for each in found.specifier), f"{package} needs an upper bound where it is required"


def test_the_private_parts_of_streamlit_are_as_they_are_needed() -> None:
    assert not script_context.missing() and not headers.missing()
    assert headers.inline_scripts(), "Streamlit's page has no inline script that is a plain <script>"
