"""A distribution of another's making, installed for a test: a folder on the path with a module and entry points."""

import uuid
from pathlib import Path

import pytest

__all__ = ["plugged"]

WEB = """
from crag.runtime.provider import Price, WebProvider
from crag.core.types import WebPage


class Search:
    id = name = "archive"
    leaves = False
    problems = ()

    def __init__(self, parts):
        self.parts = parts

    def search(self, query, max_results):
        return [
            WebPage(id=f"w{n}", url=f"https://archive.example/{n}", title="T", text="A text.", provider="x",
                    query=query, rank=n)
            for n in range(1, 4)
        ]


RECORD = WebProvider(
    name="archive", title="Archive", about="Queries go to the archive.", home="archive.example", key="archive",
    key_needed=True, address="archive_base_url", price=Price(call=0.5), make=Search,
)
"""


def plugged(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, code: str, group: str = "crag.web_providers"
) -> None:
    """Makes `name` a package with one entry point, in a new place in `folder`, which is put on the path.

    What a path has plugged in is remembered, so no two tests may have one path.
    """
    folder = folder / uuid.uuid4().hex
    folder.mkdir(parents=True)
    module = name.replace("-", "_")
    (folder / f"{module}.py").write_text(code)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{group}]\n{name} = {module}:RECORD\n")
    monkeypatch.syspath_prepend(str(folder))
