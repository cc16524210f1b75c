"""CRAG Explorer's search beside the libraries that people install instead: same files, questions, model and machine.

    python -m benchmarks.field.retrieval [--sides NAME …] [--work FOLDER]

Each side is a module of `peers/` and runs as a process in an environment of its own, made below --work from
requirements-NAME.txt; ours runs in this one. It reads files and questions as JSON and writes ranked passages, seconds
and versions; all are scored here alike. Sides take turns, and of the turns' times the best counts. What was measured
stays below --work and is not measured again, so a run that was stopped goes on; what failed is tried again. Vectors
of texts are kept too, save where adding is timed. A side that cannot be installed or fails is a row that says so.
Writes field_retrieval.json and field_retrieval.md.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.field import figures, report
from benchmarks.field.questions import PAGED, TIMED, TIMED_PAGES, Set, sets_of
from benchmarks.ingest import resident
from benchmarks.pages import RESULTS, load, machine, publish
from corpora.places import ROOT, is_missing, parser_of

HERE = Path(__file__).resolve().parent
K = 10
MODEL = "multilingual"
"""The model of all sides, under whose name figures are kept."""
BEAT = 0.1
TEXT_TURNS, TEXT_QUESTIONS = 2, 100
SETS = (*PAGED, "squad", "clapnq")


@dataclass(frozen=True, slots=True)
class Side:
    """A module of `peers/`, what its `variant` says, and its title; a variant is not timed by itself."""

    module: str
    title: str
    variant: str = ""
    timed: bool = True

    @property
    def name(self) -> str:
        return f"{self.module}-{self.variant}".replace("/", "-").rstrip("-")


SIDES = (
    Side("ours", "CRAG Explorer"),
    Side("llamaindex", "LlamaIndex"),
    Side("haystack", "Haystack, BM25 and dense"),
    Side("txtai", "txtai, dense", "dense"),
    Side("txtai", "txtai, hybrid", "hybrid", timed=False),
    Side("langgraph", "LangGraph's CRAG notebook, 1000/200", "1000/200"),
    Side("langgraph", "the same, 500/50", "500/50", timed=False),
)


class SideError(Exception):
    """A side that could not be installed or run; the message is its own last line."""


def interpreter(side: Side, work: Path) -> str:
    """The Python of a side's environment, made and filled if it is not there. Raises SideError."""
    if side.module == "ours":
        return sys.executable
    folder = work / "environments" / side.module
    python = folder / "bin" / "python"
    if not (folder / "filled").exists():
        print(f"installing {side.module}", file=sys.stderr)
        listed = HERE / f"requirements-{side.module}.txt"
        for command in (
            [sys.executable, "-m", "venv", str(folder)],
            [str(python), "-m", "pip", "install", "--quiet", "-r", str(listed)],
        ):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SideError(_last_line(done.stderr))
        (folder / "filled").touch()
    return str(python)


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"


def run(side: Side, python: str, request: dict[str, Any], folder: Path) -> dict[str, Any]:
    """One side in a process of its own, in the folder of the files, its memory watched. Raises SideError."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "HAYSTACK_TELEMETRY_ENABLED": "False",
        "LANGSMITH_TRACING": "false",
        "TOKENIZERS_PARALLELISM": "true",
    }
    with tempfile.TemporaryDirectory() as scratch:
        answer, errors = Path(scratch) / "answer.json", Path(scratch) / "errors"
        given = {"side": side.module, "variant": side.variant, "k": K, "answer": str(answer), **request}
        asked = Path(scratch) / "request.json"
        asked.write_text(json.dumps(given), encoding="utf-8")
        peak, began = 0, time.time()
        with asked.open() as source, errors.open("wb") as sink:
            process = subprocess.Popen(
                [python, "-m", "benchmarks.field.child"],
                stdin=source,
                stdout=subprocess.DEVNULL,
                stderr=sink,
                env=environment,
                cwd=folder,
            )
            while process.poll() is None:
                peak = max(peak, resident(process.pid))
                time.sleep(BEAT)
        if process.returncode:
            raise SideError(_last_line(errors.read_text(encoding="utf-8", errors="replace")))
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
    return {
        **found,
        "start_seconds": found["first_result_at"] - began,
        "peak_mb": peak / 1e6,
        "load": load(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def key(label: str, each: Set | None, model: str, side: Side, turn: int) -> str:
    """What a measurement is kept by."""
    return f"{label}{len(each.files) if each else ''}-{model}-{side.name}-{turn}"


class Measured:
    """Answers of sides by their names, each in a file below `work`; one that is there is not measured again."""

    def __init__(self, work: Path) -> None:
        self._work = work
        (work / "answers").mkdir(parents=True, exist_ok=True)

    def get(self, name: str) -> dict[str, Any] | None:
        path = self._work / "answers" / f"{name}.json"
        if not path.exists():
            return None
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def measure(self, name: str, side: Side, request: dict[str, Any], folder: Path) -> None:
        known = self.get(name)
        if known is not None and "failed" not in known:
            return
        began = time.perf_counter()
        try:
            found = run(side, interpreter(side, self._work), request, folder)
        except SideError as error:
            found = {"failed": str(error)}
        path = self._work / "answers" / f"{name}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(found), encoding="utf-8")
        os.replace(part, path)
        print(f"{name}: {time.perf_counter() - began:.0f} s {found.get('failed', '')}", file=sys.stderr)


def rank(sets: dict[str, Set], measured: Measured, sides: list[Side], model: str, work: Path) -> None:
    """Every side's ranking on every set, where it is not there yet."""
    for name, each in sets.items():
        for side in sides:
            request = {
                "store": str(work / "vectors.sqlite"),
                "files": each.files,
                "questions": [question.text for question in each.questions],
            }
            measured.measure(key(name, each, model, side, 0), side, request, each.folder)


def time_turns(sets: dict[str, Set], measured: Measured, sides: list[Side], turns: int, work: Path) -> None:
    """The sides in turns (A, B, A, B): starting and adding a filing with no vector stored, then many files of text.

    Of those all vectors are stored, so that their time is that of the files. Searches are timed over them.
    """
    filings, texts = sets["financebench"], sets["squad"]
    filing = {"store": None, "files": [TIMED], "questions": [filings.questions[0].text]}
    many = {
        "store": str(work / "vectors.sqlite"),
        "files": texts.files,
        "questions": [question.text for question in texts.questions[:TEXT_QUESTIONS]],
    }
    for turn in range(turns):
        for label, each, request in (("add", filings, filing), ("texts", texts, many)):
            for side in (side for side in sides if side.timed and (label == "add" or turn < TEXT_TURNS)):
                measured.measure(key(label, None, MODEL, side, turn), side, request, each.folder)


def summary(measured: Measured, sets: dict[str, Set], model: str, turns: int) -> dict[str, Any]:
    """Figures of all sides that were measured with this model."""
    found: dict[str, Any] = {"sets": {}, "costs": {}, "failed": {}}
    for name, each in sets.items():
        rows: dict[str, list[figures.Row]] = {}
        table = found["sets"][name] = {}
        for side in SIDES:
            answer = measured.get(key(name, each, model, side, 0))
            if answer is None:
                continue
            if "failed" in answer:
                found["failed"][side.title] = answer["failed"]
                continue
            rows[side.name] = [figures.judge(*pair) for pair in zip(each.questions, answer["ranked"], strict=True)]
            table[side.title] = {
                "chunks": answer["chunks"],
                **figures.summarize(rows[side.name]),
                "against_ours": figures.compare(rows[side.name], rows["ours"])
                if side.module != "ours" and "ours" in rows
                else None,
            }
    for side in (side for side in SIDES if side.timed):
        whole = measured.get(key("financebench", sets["financebench"], model, side, 0))
        added, texts = (
            [
                answer
                for turn in range(turns)
                if (answer := measured.get(key(label, None, model, side, turn))) and "failed" not in answer
            ]
            for label in ("add", "texts")
        )
        if added and texts and whole and "failed" not in whole:
            found["costs"][side.title] = costs(whole, added, texts, len(sets["squad"].files)) | {
                "lines": lines(side.module)
            }
    return found


def costs(
    whole: dict[str, Any], added: list[dict[str, Any]], texts: list[dict[str, Any]], files: int
) -> dict[str, Any]:
    """The best of the turns; memory is that of adding all filings."""
    searches = [figures.milliseconds(each["search_seconds"]) for each in texts]
    return {
        "pages_per_second": TIMED_PAGES / min(each["add_seconds"] for each in added),
        "start_seconds": min(each["start_seconds"] for each in added),
        "texts_per_second": files / min(each["add_seconds"] for each in texts),
        "search_p50_ms": min(p50 for p50, _ in searches),
        "search_p95_ms": min(p95 for _, p95 in searches),
        "peak_mb": whole["peak_mb"],
        "installed_mb": added[0]["installed_bytes"] / 1e6,
        "versions": added[0]["versions"],
        "turns": len(added),
        "text_turns": len(texts),
        "load": [round(each["load"], 1) for each in added + texts],
        "date": max(each["date"] for each in added + texts),
    }


def stays(results: dict[str, Any], path: Path) -> None:
    """Puts tables of the page before into results that lack them: costs that were not timed, sets with fewer sides."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"models": {}}
    for model, found in results["models"].items():
        former = before["models"].get(model, {"sets": {}, "costs": {}})
        if not found["costs"]:
            found["costs"] = {side: {"date": before["date"], **row} for side, row in former["costs"].items()}
        dates = found["dates"] = {name: results["date"] for name in found["sets"]}
        for name, rows in former["sets"].items():
            if len(found["sets"].get(name, {})) < len(rows):
                found["sets"][name] = rows
                dates[name] = former.get("dates", {}).get(name, before["date"])


def lines(module: str) -> int:
    """Lines of a side's module that are code: no blank ones, comments, docstrings."""
    return figures.code_lines((HERE / "peers" / f"{module}.py").read_text(encoding="utf-8"))


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "crag-field")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--sides", nargs="+", choices=[side.name for side in SIDES], help="the others stay as they are")
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS, help="those ranked; none: no ranking")
    parser.add_argument("--turns", type=int, default=2, help="of starting and adding; 0 times nothing")
    parser.add_argument("--filings", type=int, default=12, help="25 are all; each number is measured by itself")
    options = parser.parse_args()
    if is_missing(options.data, "financebench"):
        return 2
    work = options.work.resolve()
    sets, measured = sets_of(options.data, work, options.filings), Measured(work)
    sides = [side for side in SIDES if options.sides is None or side.name in options.sides]
    rank({name: sets[name] for name in options.sets}, measured, sides, MODEL, work)
    time_turns(sets, measured, sides, options.turns, work)
    results = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "turns": options.turns,
        "sets": {
            name: {"title": each.title, "files": len(each.files), "questions": len(each.questions)}
            for name, each in sets.items()
        },
        "models": {MODEL: summary(measured, sets, MODEL, options.turns)},
    }
    stays(results, options.out / "field_retrieval.json")
    page = report.page(results, (HERE / "findings.md").read_text(encoding="utf-8"))
    publish("field_retrieval", page, results, folder=options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
