"""Page views of a private server that may open 256 files: how many end well, and what they leave on the disk."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType

from benchmarks.attacks.figure import Figure, main
from benchmarks.attacks.origins import healthy

VISITS, FILES = 400, 256


def visitor() -> ModuleType:
    """The tests' visitor, of this tree whichever is under test."""
    place = Path(__file__).resolve().parents[2] / "tests" / "support" / "visitor.py"
    spec = importlib.util.spec_from_file_location("visitor", place)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def page_views() -> Figure:
    come = visitor()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CRAG_")}
        environment |= {"CRAG_DATA": f"{folder}/data", "CRAG_WORKSPACES": "private", "PYTHONPATH": str(Path.cwd())}
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]
        limited = ["bash", "-c", f'ulimit -n {FILES}; exec "$@"', "bash", *command]
        server = subprocess.Popen(limited, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            healthy(port)
            well = 0
            for _ in range(VISITS):
                try:
                    drawn = come.texts(come.visit(f"http://127.0.0.1:{port}"))
                except Exception:
                    break
                if "No documents yet" not in drawn:
                    break
                well += 1
        finally:
            server.kill()
            server.wait(60)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())
    what = f"{VISITS} page views of a private server with {FILES} open files: end well; left on the disk"
    return Figure(finding=2, what=what, value=f"{well}; {size / 1024:,.0f} kB")


if __name__ == "__main__":
    main([page_views])
