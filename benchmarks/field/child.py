"""One side in its own environment: a request in JSON on standard input, its answer in the JSON file that it names.

The request: `side`, `variant`, `store` (a file for vectors, or null), `files`, `questions`, `k`, `answer`.
The answer: versions, chunks, seconds, when the first result was there, and for each question the ranked passages.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import sys
import time
from pathlib import Path

Passage = tuple[str, list[int], str]
"""A file's name, the pages from 1 that a chunk lies on, and the chunk's text."""


def main() -> int:
    request = json.load(sys.stdin)
    started = time.perf_counter()
    module = importlib.import_module(f"benchmarks.field.peers.{request['side']}")
    from benchmarks.field.embedding import Embedding

    peer = module.Peer(Embedding(Path(request["store"]) if request["store"] else None), request["variant"])
    imported = time.perf_counter()
    peer.add(request["files"])
    added = time.perf_counter()
    peer.search(request["questions"][0], request["k"])
    first = time.time()
    ranked, seconds = [], []
    for question in request["questions"]:
        began = time.perf_counter()
        ranked.append(peer.search(question, request["k"]))
        seconds.append(time.perf_counter() - began)
    answer = {
        "versions": {name: importlib.metadata.version(name) for name in module.PACKAGES},
        "installed_bytes": installed(module.PACKAGES),
        "chunks": peer.chunks,
        "import_seconds": imported - started,
        "add_seconds": added - imported,
        "first_result_at": first,
        "search_seconds": seconds,
        "ranked": ranked,
    }
    Path(request["answer"]).write_text(json.dumps(answer), encoding="utf-8")
    return 0


def installed(packages: list[str]) -> int:
    """Bytes of these distributions, of the model's runtime, and of all that they require, as installed."""
    pending, seen, total = [*packages, "onnxruntime", "tokenizers", "numpy"], set[str](), 0
    while pending:
        name = pending.pop().lower().replace("_", "-").replace(".", "-")
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # of another platform, or of an extra that nobody asked for
        for file in found.files or []:
            path = Path(str(found.locate_file(file)))
            total += path.stat().st_size if path.is_file() else 0
        pending += [name_of(line) for line in found.requires or [] if "extra ==" not in line]
    return total


def name_of(requirement: str) -> str:
    """The distribution that a requirement names: `httpx>=0.28; python_version > "3"` gives `httpx`."""
    return next(
        (requirement[:at] for at, sign in enumerate(requirement) if not (sign.isalnum() or sign in "-_.")), requirement
    )


if __name__ == "__main__":
    sys.exit(main())
