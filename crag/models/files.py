"""Model files that ship with the code, read only after their hash has been checked against the manifest."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from crag.core.errors import ModelError


def verified_files(folder: Path, expected_id: str) -> dict[str, bytes]:
    """The files that `folder/manifest.json` lists, by name, each equal to its listed SHA-256.

    Raises ModelError where the manifest or a file is missing, unreadable or changed, or where the manifest
    belongs to another model than `expected_id`.
    """
    manifest = _manifest(folder)
    if manifest.get("id") != expected_id:
        raise ModelError(f"The model in crag/models/{folder.name} is {manifest.get('id')!r}, not {expected_id!r}.")
    found = {}
    for name, digest in manifest["sha256"].items():
        try:
            data = (folder / name).read_bytes()
        except OSError as error:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} can't be read ({error}).") from error
        if hashlib.sha256(data).hexdigest() != digest:
            raise ModelError(f"The model file crag/models/{folder.name}/{name} is damaged: its hash is wrong.")
        found[name] = data
    return found


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"The manifest of crag/models/{folder.name} can't be read ({error}).") from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("sha256"), dict):
        raise ModelError(f"The manifest of crag/models/{folder.name} lists no files.")
    return manifest
