"""Thresholds tuned on one's own labels: a script in cells (`# %%`), to be run whole or cell by cell in a notebook.

python -m examples.tune_thresholds [LABELS.jsonl]

A line of labels holds a question with a document and a page that answer it ("answers": "yes"), a question that no
document answers ("no"), or a question with a text that answers it or does not.
"""

# %% The labels, by question
import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from crag import Engine
from crag.analysis.thresholds.recommend import Refusal, crowding_warning, recommend
from crag.analysis.thresholds.sweep import Scored
from crag.core.strategies import strategy
from crag.messages import tuning

file = Path(sys.argv[1] if sys.argv[1:] else "examples/labels.jsonl")
labels: dict[str, list[dict[str, Any]]] = defaultdict(list)
for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
    labels[row["question"]].append(row)

# %% The library: the sample's report, which is known already from the second time on
engine, settings = Engine(), strategy("balanced").settings
sample = engine.sample()
engine.add(sample.pdf, workspace="examples")


# %% What the evaluator says: of the texts that were labelled, or of the chunks that are found for the question
def scored(question: str, rows: list[dict[str, Any]]) -> Scored:
    said = [row for row in rows if row["answers"] == "yes"]
    texts, answerable = [row["text"] for row in rows if "text" in row], bool(said)
    if not texts:
        chunks = [each.chunk for each in engine.library("examples").search(question, settings.k)]
        texts = [chunk.graded_text(settings.grade_chars) for chunk in chunks]
        answerable = any((row["document"], row["page"]) == (each.source, each.page) for row in said for each in chunks)
    return Scored(scores=tuple(grade.score for grade in engine.grade(question, texts)), answerable=answerable)


questions = [scored(question, rows) for question, rows in labels.items()]
print(len(questions), "questions, answered in the documents:", sum(bool(each.answerable) for each in questions))

# %% Where the thresholds should be, how surely, and whether too much would end AMBIGUOUS
aggregation, now, doubt = settings.aggregation, (settings.upper, settings.lower), settings.ambiguity_margin
found = recommend(questions, aggregation=aggregation, current=now, doubt=doubt)
if isinstance(found, Refusal):
    print("No recommendation.", tuning.refusal_sentence(found), sep="\n")
else:
    print(f"Recommended: upper {found.upper}, lower {found.lower}.", tuning.recommendation_sentence(found))
    print(*map(tuning.warning_sentence, found.warnings), sep="\n")
for upper, lower in (now, (0.95, 0.05)):
    warning = crowding_warning(questions, upper=upper, lower=lower, aggregation=aggregation, doubt=doubt)
    print(f"{upper} / {lower}:", tuning.warning_sentence(warning) if warning else "no collapse into AMBIGUOUS.")
engine.close()
