"""Page views of a private server that may open 256 files: how many end well, and what they leave on the disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.attacks.figure import Figure, main
from tests.support.app_server import serving
from tests.support.visitor import texts, visit

VISITS, FILES = 400, 256


def page_views() -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        with serving(Path(folder), tree=Path.cwd(), files=FILES, CRAG_WORKSPACES="private") as app:
            well = 0
            for _ in range(VISITS):
                try:
                    drawn = texts(visit(app.url))
                except Exception:
                    break
                if "No documents yet" not in drawn:
                    break
                well += 1
        size = sum(file.stat().st_size for file in app.data.rglob("*") if file.is_file())
    what = f"{VISITS} page views of a private server with {FILES} open files: end well; left on the disk"
    return Figure(finding=2, what=what, value=f"{well}; {size / 1024:,.0f} kB")


if __name__ == "__main__":
    main([page_views])
