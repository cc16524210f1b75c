"""What is known of the stored runs: people's labels on chunks and question sets, brought together run by run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crag.analysis.evaluate import question_set
from crag.analysis.metrics.metrics import label_of
from crag.analysis.questions.sets import Question
from crag.analysis.thresholds.recommend import Case, ChunkScore, chunk_scores, same_question, score_cases, with_thumbs
from crag.analysis.thresholds.sweep import Scored
from crag.analysis.whatif.replay_plan import StoredDecisions
from crag.core.settings import Settings
from crag.storage.labels import Label
from ui.app.session import Session
from ui.tune.cache import cached
from ui.tune.stored import Judged, runs_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Labels:
    """The runs looked at, with their labels; what is made from it is kept as long as it is (`cached`).

    `thumbs`: people's labels on chunks; `judged`: runs of which a question set tells something.
    """

    cases: tuple[Case, ...]
    thumbs: tuple[Label, ...]
    judged: int

    @property
    def some(self) -> bool:
        return bool(self.thumbs) or self.judged > 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, weakref_slot=True)
class Learnable:
    """The runs that thresholds can be learnt from: one a question, the newest that tells, all by one evaluator."""

    cases: tuple[Case, ...]
    questions: tuple[Scored, ...]
    evaluator: str

    @property
    def labelled(self) -> int:
        return sum(each.answerable is not None for each in self.questions)


def set_ids(session: Session) -> tuple[str, ...]:
    """The ids of the question sets stored in the session's library, the latest first. Raises CragError."""
    return tuple(each.id for each in session.library.evaluations.sets())


def expected(session: Session) -> Mapping[str, Question]:
    """What the stored question sets know, by question; of several sets the one added last. Raises CragError."""
    ids = set_ids(session)

    def made() -> dict[str, Question]:
        found: dict[str, Question] = {}
        for id in ids:
            for question in question_set(session.library, id).questions:
                if label_of(question) is not None:
                    found.setdefault(same_question(question.question), question)
        return found

    return cached("expected", runs_of(session.workspace), ids, made)


def label_runs(ledger: StoredDecisions, judged: Mapping[str, Judged], thumbs: Sequence[Label]) -> Labels:
    """The runs of a ledger with what sets and people say of them."""
    said: dict[str, dict[str, bool]] = {}
    for label in thumbs:
        said.setdefault(same_question(label.question), {})[label.chunk_id] = label.label == "relevant"
    cases = []
    for entry in ledger.entries:
        found = judged.get(entry.run_id)
        own = said.get(same_question(entry.question), {})
        cases.append(with_thumbs(entry, found.relevance if found else (), found.answerable if found else None, own))
    about = sum(entry.run_id in judged for entry in ledger.entries)
    return Labels(cases=tuple(cases), thumbs=tuple(thumbs), judged=about)


def evaluators(cases: Iterable[Case], settings: Settings) -> list[str]:
    """Who graded the first retrievals that these settings look at, the most frequent first."""
    return [name for name, _ in Counter(filter(None, (_by(case, settings) for case in cases))).most_common()]


def learnable(labels: Labels, settings: Settings, evaluator: str) -> Learnable:
    """The runs by this evaluator from which thresholds under these settings can be learnt."""
    seen: set[str] = set()
    cases, questions = [], []
    for case in labels.cases:
        question = same_question(case.entry.question)
        if question in seen or _by(case, settings) != evaluator:
            continue
        found = score_cases([case], settings)
        if found:
            seen.add(question)
            cases.append(case)
            questions += found
    return Learnable(cases=tuple(cases), questions=tuple(questions), evaluator=evaluator)


def scores(cases: Sequence[Case], settings: Settings) -> list[ChunkScore]:
    """The scores of first retrievals: chunk by chunk, or the one over all of each, labelled as answerable."""
    if settings.evaluator != "joint":
        return chunk_scores(cases, settings)
    found = []
    for case in cases:
        grade = case.entry.rounds[0].joint if case.entry.rounds else None
        if grade is not None and score_cases([case], settings):
            found.append(
                ChunkScore(
                    run_id=case.entry.run_id,
                    chunk_id="",
                    score=grade.score,
                    relevant=case.answerable,
                    evaluator=grade.evaluator,
                )
            )
    return found


def _by(case: Case, settings: Settings) -> str:
    """Who graded most of a first retrieval; empty where nobody did."""
    if not case.entry.rounds:
        return ""
    first = case.entry.rounds[0]
    grades = [first.joint] if settings.evaluator == "joint" else first.grades
    made = Counter(grade.evaluator for grade in grades if grade is not None)
    return made.most_common(1)[0][0] if made else ""
