"""Engines that share the local models: loaded once in a process, whatever number of engines its tests make."""

import hashlib
import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

from crag.core.config import AppConfig
from crag.engine import Engine
from crag.models.cross_encoder import FOLDER
from crag.testing.fakes import FakeClock
from tests.support.remembering import RememberingE5, RememberingEvaluator


@cache
def parts() -> dict[str, Any]:
    """The embedder and the evaluator, as an engine takes them."""
    embedder = RememberingE5(threads=1)
    return {"embedder": embedder, "evaluator": RememberingEvaluator(threads=1, embedder=embedder)}


def engine(config: AppConfig, **given: Any) -> Engine:
    """An engine under `config` with the shared models, where no others are given, and no pauses between attempts."""
    return Engine(config, **{**parts(), "clock": FakeClock(), **given})


def with_layer(folder: Path, part: str, layer: object) -> Path:
    """A copy of the evaluator's folder with another layer for `part` in head.json; None: with none."""
    copy = folder / "model"
    shutil.copytree(FOLDER, copy)
    head = {**json.loads((copy / "head.json").read_text()), part: layer}
    data = json.dumps({name: value for name, value in head.items() if value is not None}).encode()
    (copy / "head.json").write_bytes(data)
    manifest = json.loads((copy / "manifest.json").read_text())
    manifest["sha256"]["head.json"] = hashlib.sha256(data).hexdigest()
    (copy / "manifest.json").write_text(json.dumps(manifest))
    return copy
