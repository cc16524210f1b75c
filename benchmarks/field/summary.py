"""The tables beside the field on one page: the headline figures of each, who is ahead, and what was not measured.

    python -m benchmarks.field.summary [--results FOLDER]

Reads what the other commands of benchmarks.field wrote to results/ and measures nothing. A table that is not there is
named with the place where its data is had. `losses.md` ends the page: what people saw on reading cases. Writes field.md
beside them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.evaluator_report import table
from benchmarks.field.report import TITLES, difference, estimate

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
SOURCES = {
    "field_retrieval": "",
    "field_filings": "github.com/patronus-ai/financebench",
    "field_mtrag": "github.com/pashaAbri/mt-rag-benchmark",
    "field_web": "github.com/facebookresearch/CRAG",
    "field_enterprise": "github.com/hydra-db/enterpriserag-bench-hydradb, questions.jsonl of "
    "github.com/onyx-dot-app/EnterpriseRAG-Bench",
    "RAGTruth": "dataset/response.jsonl and source_info.jsonl of github.com/ParticleMedia/RAGTruth, over 4 MB each",
}
"""The tables, and where the data of each is had."""
Row = tuple[str, str, str, str, str, str]

HEAD = """# Beside the field

Made by `python -m benchmarks.field.summary` from the pages it links; each says its command, data, machine and versions.
No language model, no key, no web on our side. In brackets 95 % intervals. *Ahead* and *behind* only where the interval
of the difference on the same questions leaves out 0."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS)
    folder = parser.parse_args().results
    found = {
        name: json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        for name in SOURCES
        if (folder / f"{name}.json").is_file()
    }
    said = page(found, (HERE / "losses.md").read_text(encoding="utf-8"))
    print(said)
    (folder / "field.md").write_text(said, encoding="utf-8")
    return 0


def page(found: Mapping[str, Mapping[str, Any]], losses: str) -> str:
    """As Markdown."""
    made = {
        "field_retrieval": _libraries,
        "field_filings": _filings,
        "field_mtrag": _texts,
        "field_web": _web,
        "field_enterprise": _texts,
    }
    rows = [row for name, results in found.items() for row in made[name](results)]
    head = ("data and measure", "CRAG Explorer", "beside it", "its figure", "theirs less ours", "we are")
    dates = [f"[{name}]({name}.md), {results['date']}, {results['machine']}" for name, results in found.items()]
    absent = [
        f"- {name}: not measured here. Its data: {place}." for name, place in SOURCES.items() if name not in found
    ]
    parts = [HEAD, "\n".join(f"- {each}" for each in dates), table(head, rows)]
    if absent:
        parts += ["## Not measured", "\n".join(absent)]
    return "\n\n".join([*parts, losses])


def verdict(less_ours: Mapping[str, Any] | None) -> str:
    """Where the other side's figure less ours says that we are."""
    if less_ours is None or less_ours["low"] is None:
        return "–"
    return "ahead" if less_ours["high"] < 0 else "**behind**" if less_ours["low"] > 0 else "no difference shown"


def _turned(difference: Mapping[str, Any]) -> dict[str, float]:
    """The other way round: what was less theirs is less ours."""
    return {"value": 0.0 - difference["value"], "low": 0.0 - difference["high"], "high": 0.0 - difference["low"]}


def _libraries(results: Mapping[str, Any]) -> Iterator[Row]:
    """On each set the ranking beside the best other library, then what adding costs beside the fastest."""
    found = next(each for each in results["models"].values() if each["costs"])
    for name, title in TITLES.items():
        if "CRAG Explorer" not in found["sets"].get(name, {}):
            continue
        ours = found["sets"][name]["CRAG Explorer"]
        others = {side: row for side, row in found["sets"][name].items() if row["against_ours"]}
        side, best = max(others.items(), key=lambda each: float(each[1]["ndcg@10"]["value"]))
        less = best["against_ours"]["ndcg@10"]
        cells = estimate(ours["ndcg@10"]), f"{side}, the best of {len(others)}", estimate(best["ndcg@10"])
        yield f"{title}: nDCG@10 of the search", *cells, difference(less), verdict(less)
    costs = {side: row["texts_per_second"] for side, row in found["costs"].items()}
    others = {side: value for side, value in costs.items() if side != "CRAG Explorer"}
    slowest = min(others, key=lambda side: float(others[side]))
    row = f"{costs['CRAG Explorer']:.0f}", f"{slowest}, the slowest other", f"{others[slowest]:.0f}"
    yield "SQuAD: files of text added a second, vectors stored before", *row, "no interval", "**behind**"
    for size, sides in results.get("growth", {}).items():
        yield from _memory(int(size), {side: row for side, row in sides.items() if not row["failed"]})


def _memory(size: int, sides: Mapping[str, Mapping[str, Any]]) -> Iterator[Row]:
    """Over this many passages beside the best other library; how long searches take depends on what else runs there."""
    costs = {side: float(row["resident_mb"]) for side, row in sides.items()}
    ours = costs.pop("CRAG Explorer", None)
    if ours is not None and costs:
        best = min(costs, key=lambda side: costs[side])
        row = f"{ours:,.0f}", f"{best}, the best of {len(costs)}", f"{costs[best]:,.0f}", "no interval"
        yield f"{size:,} made passages: memory, MB", *row, "**behind**" if costs[best] < ours else "ahead"


def _filings(results: Mapping[str, Any]) -> Iterator[Row]:
    """Right answers beside language models over a store of all filings, then given the page."""
    titles = {
        "gpt-4-1106-preview_sharedStore": "GPT-4 Turbo, all filings in one store",
        "gpt-4-1106-preview_singleStore": "GPT-4 Turbo, a store a filing",
        "gpt-4-1106-preview_oracle": "GPT-4 Turbo, given the gold page",
    }
    for name, title in titles.items():
        each = results["systems"][name]
        published = f"{estimate(each['right'])}; of all 150: {each['right_of_all']['value']:.2f} (arXiv 2311.11944)"
        turned = _turned(each["ours_less_theirs"])
        row = estimate(results["right"]), title, published, difference(turned), verdict(turned)
        yield "FinanceBench: right answers, 45 dev questions", *row
    missed = results["systems"]["gpt-4-1106-preview_sharedStore"]["page_where_missed"]
    row = estimate(missed), "GPT-4 Turbo, all filings in one store", "0 by choice of the questions", "–", "–"
    yield f"the {missed['of']} that it missed: our evidence holds a gold page", *row


def _web(results: Mapping[str, Any]) -> Iterator[Row]:
    """The contest's score beside plain RAG over the same pages."""
    scores, less = results["scores"], results["less"]
    row = estimate(scores["balanced"]), "plain RAG, the same pages", estimate(scores["plain-rag"]), difference(less)
    yield f"CRAG of KDD Cup 2024, {results['questions']} questions: score", *row, verdict(less)


def _texts(results: Mapping[str, Any]) -> Iterator[Row]:
    """Search, order and relevance beside simpler ways, and what runs do where nothing answers."""
    title, search = results["title"], results["search"]
    *_, last = dict.fromkeys(name.rpartition(": ")[0] for name in search)
    ours = search[f"{last}: CRAG Explorer"]["ndcg@5"]
    for side in ("vectors alone", "words alone (BM25)"):
        each = search[f"{last}: {side}"]
        row = estimate(ours), side, estimate(each["ndcg@5"]), difference(each["less_ours"]), verdict(each["less_ours"])
        yield f"{title}: nDCG@5 of the search, question {last}", *row
    if rules := search.get("completed by our rules: CRAG Explorer"):
        turned = _turned(rules["less_as_asked"])
        row = estimate(rules["ndcg@5"]), "as asked", estimate(search["as asked: CRAG Explorer"]["ndcg@5"])
        yield f"{title}: nDCG@5, follow-ups completed by our rules", *row, difference(turned), verdict(turned)
    if order := results["order"]:
        ours, own = order["evaluator"], order["its own order"]["ndcg@5"]
        turned = _turned(ours["less_own"])
        row = estimate(ours["ndcg@5"]), "the order of the system that found them", estimate(own), difference(turned)
        yield f"{title}: nDCG@5 of ten texts put in order by the evaluator", *row, verdict(turned)
    found = results["relevance"]
    for side in ("vectors alone", "words alone (BM25)"):
        row = estimate(found["evaluator"]["text"]), side, estimate(found[side]["text"]), "–", "–"
        yield f"{title}: AUC of the evaluator, text relevant or not", *row
    answerable = results["answerable"]["score of the set"]
    row = estimate(answerable), "chance", "0.50", "–", "ahead" if answerable["low"] > 0.5 else "no difference shown"
    yield f"{title}: AUC of a run's score, question answerable or not", *row


if __name__ == "__main__":
    sys.exit(main())
