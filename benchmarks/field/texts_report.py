"""The page of one body of texts: where search, evaluator and runs stand on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.evaluator_report import table
from benchmarks.field.kept import Figures
from benchmarks.field.report import difference, estimate

HEAD = """# Beside the field: {title}

Made by `python -m benchmarks.field.texts --body {body}`, {date}, {machine}, {versions}.

{questions} questions, {texts} texts as {chunks} chunks. No language model, no key, no web. {chosen}
In brackets 95 % intervals: Wilson's for shares, bootstrap over questions for the rest. Differences are of the same
questions, in bold where the interval leaves out 0."""

CHOSEN = {
    "mtrag": "How names count in the search of\nlarge libraries was chosen with this data and others; nothing else.",
    "enterprise": "Nothing was chosen on this data.",
}
ABOUT = {
    "mtrag": """MTRAG (arXiv 2501.03468) has 842 turns of 110 conversations that people led over four collections.
Taken are the 133 turns that are not plainly answerable, and of the others as many as make {questions}. The collections
themselves (366,459 passages) cannot be had here: files of 4 MB and more are left out. So the texts searched are those
that people were shown for these turns, and the first ten that ELSER found over a whole collection, which a run of a
fork of the repository stored (github.com/pashaAbri/mt-rag-benchmark; Cloud, ClapNQ and FiQA). A search among these few
texts is easier than one over the collections: *Search* compares ways to search, and stands beside no published figure.
*Order* does: the same questions, texts and measure.""",
    "enterprise": """EnterpriseRAG-Bench (arXiv 2605.05253) has 500 questions on 511,958 documents of a made-up
company. The texts here are the 2,667 that one system (HydraDB, run of 2026-09-04) gave its language model, so a gold
text that it missed is not among them, and a search among these is easier than one over the whole.""",
}

PUBLISHED = {
    "mtrag": """Published for all 777 tasks over the whole collections, nDCG@5: questions written out, ELSER 0.48,
BGE-base 0.34, BM25 0.22; as asked 0.45, 0.27, 0.18 (the benchmark's `retrieval_tasks/README.md`). At SemEval-2026
task 8 (arXiv 2603.10524) ELSER had 0.402 and the winner 0.578, on other conversations.""",
    "enterprise": """Published document recall over the whole: best listed 86.6 %, OpenAI File Search 71.7, Amazon Q
70.4, RAGFlow 63.1 (leaderboard of 2026-08-28); HydraDB reports 96.6 at 10 documents for the run whose texts these
are.""",
}

ORDER = """The first ten that a system found, in the order of the evaluator's score of each whole text, beside the
system's own order, cosine of our embedding model and BM25. Gold texts that are not among the ten count as missed."""


def page(results: Mapping[str, Any]) -> str:
    """As Markdown."""
    body = results["body"]
    parts = [HEAD.format(**results, chosen=CHOSEN[body]), ABOUT[body].format(**results)]
    parts += [f"Of {results['gold']} gold ids {results['lost_gold']} are of no text here.", "## Search"]
    parts += [_search(results["search"]), PUBLISHED[body]]
    if results["order"]:
        parts += ["## Order of what another system found", ORDER, _order(results["order"])]
    return "\n\n".join([*parts, "## Relevant or not", *_relevance(results), "## Runs", *_runs(results)]) + "\n"


def _search(found: Mapping[str, Figures]) -> str:
    rows = [
        (
            name,
            *(estimate(each[key]) for key in ("ndcg@5", "hit@5", "hit@10")),
            *(difference(each[key]) for key in ("less_ours", "less_as_asked")),
        )
        for name, each in found.items()
    ]
    return table(("question: search", "nDCG@5", "hit@5", "hit@10", "nDCG@5 less ours", "less as asked"), rows)


def _order(found: Mapping[str, Figures]) -> str:
    rows = [
        (name, estimate(each["ndcg@5"]), "–" if name == "its own order" else difference(each["less_own"]))
        for name, each in found.items()
    ]
    of = next(iter(found.values()))["ndcg@5"]["of"]
    return table((f"order, {of} questions", "nDCG@5", "less its own"), rows)


def _relevance(results: Mapping[str, Any]) -> list[str]:
    found, answerable = results["relevance"], results["answerable"]
    graders = ("evaluator", "vectors alone", "words alone (BM25)")
    rows = [(name, estimate(found[name]["text"]), estimate(found[name]["question"])) for name in graders]
    rows += [(f"a run's {name}", "", estimate(each)) for name, each in answerable.items()]
    text = (
        f"AUC, 0.5 is chance. *Texts*: {found['relevant']:,} of {found['texts']:,} texts shown with the questions were "
        "judged relevant. *Questions*: is it one that some text answers, by its best text shown, or by what a run says "
        f"that searches the library; {found['absent']} questions are labelled as answered by none. Questions within a "
        "conversation are completed by our rules."
    )
    return [text, table(("", "texts", "questions"), rows)]


def _runs(results: Mapping[str, Any]) -> list[str]:
    names = ("CORRECT", "AMBIGUOUS", "INCORRECT", "abstained", "low", "confident", "evidence")
    rows = [
        (kind, str(each["abstained"]["of"]), *(estimate(each[name]) for name in names))
        for kind, each in results["kinds"].items()
    ]
    head = ("kind of question", "asked", *names[:3], "no answer", "of low confidence", "confident", "gold in evidence")
    text = "`balanced`, each within its conversation. *Gold in evidence*: a sentence that is kept is of a gold text."
    return [text, table(head, rows)]
