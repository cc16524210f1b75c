"""Where what the shipped models made of a text is kept from one run of the tests to the next: see remembering.py."""

from __future__ import annotations

import hashlib
import platform
import shutil
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KEPT = ROOT / "build" / "readings"


def kept() -> Path:
    """The folder of this state of the models, of the code that runs them and of the packages that it is run with.

    Each model's manifest holds the hashes of its files, which are checked where it is loaded. What another state made
    is removed.
    """
    digest = hashlib.sha256(f"{platform.machine()} {platform.python_version()}".encode())
    models = ROOT / "crag" / "models"
    for path in sorted([*models.glob("*.py"), *models.glob("*/*.json"), ROOT / "requirements" / "dev.lock"]):
        digest.update(path.read_bytes())
    found = KEPT / digest.hexdigest()[:16]
    found.mkdir(parents=True, exist_ok=True)
    for other in KEPT.iterdir():
        if other != found:
            shutil.rmtree(other, ignore_errors=True)
    return found
