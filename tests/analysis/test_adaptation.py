"""What the evaluator learns from labels: what helps is used, what does not is off, and grades never mix."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crag.analysis.adaptation import (
    Example,
    Refusal,
    correct_entry,
    labelled_cases,
    labelled_chunks,
    learn,
    learn_from,
    lesson,
    use_adaptation,
)
from crag.analysis.causes import explain_grade
from crag.analysis.evaluate import add_set
from crag.analysis.questions.sets import Question, QuestionSet
from crag.analysis.whatif.entries import Entry
from crag.core.config import AppConfig
from crag.core.errors import StorageError
from crag.core.protocols import RunRequest
from crag.core.types import Grade, GradedText
from crag.engine import Engine
from crag.evaluation.adaptation import (
    Adaptation,
    AdaptedEvaluator,
    Correction,
    Figures,
    Lesson,
    adapt,
    log_odds,
    read_adaptation,
    write_adaptation,
)
from crag.evaluation.heads import probability, set_features
from crag.messages.tuning import learned_sentences, learning_refusal_sentence, use_sentence
from crag.storage.library import Library
from crag.testing.fakes import ScriptedEvaluator, ScriptedSetGrader
from tests.support.small_library import WordEmbedder, fill
from tests.support.tune_runs import add_report, run


def examples(count: int, *, slope: float, values: bool = False, seed: int = 3) -> list[Example]:
    """Labelled scores whose true log-odds are `slope` times the shipped ones, plus a reading that the score ignores."""
    dice = np.random.default_rng(seed)
    found = []
    for place, odds in enumerate(dice.normal(0, 2, count)):
        reading = float(dice.normal()) if values else 0.0
        label = bool(dice.random() < probability(slope * odds + 2 * reading))
        own = (reading,) if values else ()
        found.append(Example(odds=float(odds), values=own, label=label, group=f"question {place // 3}"))
    return found


def test_scores_that_are_too_sure_are_corrected_and_keep_their_order() -> None:
    found, held = lesson(examples(300, slope=0.3))
    assert found.helps and 0.15 < found.correction.slope < 0.6
    assert found.after.error < found.before.error - 0.05 and found.after.loss < found.before.loss
    assert found.after.auc == found.before.auc and held.after.shape == held.labels.shape == (300,)


def test_calibrated_scores_are_left_alone() -> None:
    helping = [lesson(examples(200, slope=1.0, seed=seed))[0].helps for seed in range(10)]
    assert sum(helping) <= 2


def test_a_reading_of_a_set_that_the_score_ignores_is_learned() -> None:
    found, _ = lesson(examples(200, slope=1.0, values=True))
    assert found.helps and found.correction.weights[0] > 1
    assert found.after.auc > found.before.auc + 0.03


def test_few_labels_move_a_score_less_than_many() -> None:
    few, many = (lesson(examples(count, slope=0.3))[0].correction.slope for count in (30, 600))
    assert abs(1 - few) < abs(1 - many)


@pytest.mark.parametrize(
    ("found", "reason", "says"),
    [
        ([], "few", "0 are there"),
        (examples(29, slope=1.0), "few", "29 are there"),
        ([replace(each, label=True) for each in examples(60, slope=1.0)], "one kind", "0 irrelevant"),
        ([replace(each, group="one") for each in examples(60, slope=1.0)], "questions", "about 1 question"),
        ([replace(each, label=not each.label) for each in examples(90, slope=2.0)], "reversed", "swapped"),
    ],
)
def test_bad_labels_teach_nothing_and_it_is_said_why(found: list[Example], reason: str, says: str) -> None:
    refused = lesson(found)
    assert isinstance(refused, Refusal) and refused.reason == reason
    assert says in learning_refusal_sentence("chunks", refused)


def test_labels_that_contradict_one_another_leave_no_score_sure() -> None:
    """Each score once with either label: nothing can be known, and what is learned says so of every text."""
    pairs = [replace(each, label=label) for each in examples(60, slope=1.0) for label in (True, False)]
    found, _ = lesson(pairs)
    assert abs(found.correction.slope) < 0.3
    assert max(abs(found.correction.slope * each.odds + found.correction.bias) for each in pairs) < 1


# ---- from the runs of a library


@pytest.fixture
def library(tmp_path: Path) -> Library:
    with Library(tmp_path / "library", WordEmbedder()) as opened:
        yield opened


def overconfident(library: Library, count: int = 60) -> None:
    """Runs whose chunk scores are high and low, of which a third are wrong, and a set that says which page answers."""
    add_report(library, WordEmbedder.dimension)
    questions = []
    for number in range(count):
        library.runs.save(run(number, [0.97, 0.03], evaluator="local-6"), [])
        page = 1 if number % 3 else 2
        asked = f"Why did it happen in {number}?"
        questions.append(Question(id=str(number), question=asked, sources=("report.pdf",), pages=(page,)))
    add_set(library, QuestionSet(name="known", questions=tuple(questions)))


def test_the_runs_of_a_library_teach_and_what_is_learned_is_kept(library: Library) -> None:
    overconfident(library)
    learned = learn_from(library, "local-6")
    assert isinstance(learned.chunks, Lesson) and learned.chunks.labels == 120 and learned.chunks.questions == 60
    assert isinstance(learned.sets, Refusal) and learned.sets.reason == "few"
    found = learned.adaptation
    assert found is not None and found.sets is None
    use_adaptation(library, found)
    assert read_adaptation(library.labels.adaptation()) == found
    entry = Entry.of(next(iter(library.runs.traces(["run-1"]))))
    score = correct_entry(entry, found).rounds[0].grades[0].score
    assert score == pytest.approx(2 / 3, abs=0.08) and entry.rounds[0].grades[0].score == 0.97
    library.labels.delete_adaptation()
    assert library.labels.adaptation() == ""


def test_corrected_scores_teach_as_they_were_shipped_and_other_evaluators_nothing(library: Library) -> None:
    overconfident(library)
    first = learn_from(library, "local-6")
    assert first.adaptation is not None
    cases = [replace(case, entry=correct_entry(case.entry, first.adaptation)) for case in labelled_cases(library)]
    assert cases[0].entry.rounds[0].grades[0].evaluator == first.adaptation.id
    present = labelled_chunks(cases)
    assert learn(cases, "local-6", present).chunks == first.chunks
    none = learn(cases, "local-7", present).chunks
    assert isinstance(none, Refusal) and none.labels == 0


def test_labels_about_deleted_documents_are_left_out_and_counted(library: Library) -> None:
    overconfident(library)
    library.documents.delete("report")
    learned = learn_from(library, "local-6")
    assert isinstance(learned.chunks, Refusal) and learned.chunks.labels == 0 and learned.adaptation is None
    assert learned_sentences(learned)[-1] == "Left out: 120 labels about documents that were deleted."


# ---- the evaluator that scores with it


def taught(slope: float = 0.5, bias: float = 0.2, weights: tuple[float, ...] = ()) -> Lesson:
    same = Figures(loss=0.5, error=0.1, auc=0.8)
    found = Correction(slope=slope, bias=bias, weights=weights)
    return Lesson(correction=found, labels=60, questions=20, before=same, after=same, gain=0.1, doubt=0.01)


def adaptation(chunks: Lesson | None = None, sets: Lesson | None = None) -> Adaptation:
    return Adaptation(evaluator="scripted", at="2026-01-01T00:00:00+00:00", chunks=chunks, sets=sets)


def test_a_set_is_graded_from_the_shipped_scores_of_its_texts() -> None:
    class Both(ScriptedEvaluator, ScriptedSetGrader):
        def __init__(self) -> None:
            ScriptedEvaluator.__init__(self, score=lambda text: 0.9)
            self.sets = ScriptedSetGrader(lambda texts: max(each.score for each in texts))

        def grade_set(self, question, texts):  # type: ignore[no-untyped-def]
            return self.sets.grade_set(question, texts)

    weights = (0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0)
    own = AdaptedEvaluator(Both(), adaptation(chunks=taught(), sets=taught(1.0, 0.0, weights)))
    corrected = taught().correction.score(0.9)
    found = own.grade_set("Why?", [GradedText(text="one", score=corrected, keywords=1.0)])
    assert found is not None and found.readings.best == pytest.approx(0.9) and found.unadapted == pytest.approx(0.9)
    assert log_odds(found.score) == pytest.approx(log_odds(0.9) + 1.5 * set_features(found.readings)[2])
    assert found.evaluator == own.id


def test_another_version_of_the_evaluator_ignores_what_was_learned_and_says_so() -> None:
    evaluator, learned = ScriptedEvaluator(score=lambda text: 0.5), adaptation(chunks=taught())
    assert adapt(evaluator, write_adaptation(learned)).id == learned.id
    newer = ScriptedEvaluator(score=lambda text: 0.5, id="scripted-2")
    assert adapt(newer, write_adaptation(learned)) is newer and adapt(newer, "") is newer
    assert "Not used" in use_sentence(learned, newer.id) and use_sentence(learned, "scripted").startswith("In use")
    with pytest.raises(StorageError):
        adapt(evaluator, '{"evaluator": 3}')


def test_a_failed_grade_stays_failed() -> None:
    own = AdaptedEvaluator(ScriptedEvaluator(score=lambda text: None, joint=None), adaptation(chunks=taught()))
    failed = own.grade_joint("Why?", [])
    assert failed.failed and failed.unadapted is None and failed.evaluator == own.id


def test_runs_are_graded_with_it_and_grades_of_two_corrections_never_mix(tmp_path: Path) -> None:
    evaluator = ScriptedEvaluator(score=lambda text: 0.9 if "hired" in text else 0.2)
    engine = Engine(AppConfig.of(data=tmp_path), embedder=WordEmbedder(), evaluator=evaluator)
    fill(engine)
    library = engine.library()

    def grades() -> dict[str, Grade]:
        trace = engine.trace(RunRequest("How many people were hired in 2019?", "paper"))
        return {found.chunk.text: trace.rounds[0].grades[found.chunk.id] for found in trace.rounds[0].chunks}

    shipped = grades()
    for learned in (adaptation(chunks=taught()), adaptation(chunks=taught(0.8, -1.0))):
        use_adaptation(library, learned)
        own, again = grades(), grades()
        for text, grade in own.items():
            was = shipped[text].score
            assert was is not None and grade.score == pytest.approx(learned.chunks.correction.score(was))  # type: ignore[union-attr]
            assert (grade.unadapted, grade.evaluator, grade.cached) == (was, learned.id, False)
            assert again[text].cached and again[text].score == grade.score
    trace = engine.trace(RunRequest("How many people were hired in 2019?", "paper"))
    chunk = trace.rounds[0].chunks[0].chunk
    explained = explain_grade(engine, library, trace, chunk.id)
    assert explained.reason == "" and explained.words, "the adapted score is explained by the adapted evaluator"
    library.labels.delete_adaptation()
    back = grades()
    assert all(grade.cached and grade.unadapted is None for grade in back.values())
    assert {text: grade.score for text, grade in back.items()} == {text: each.score for text, each in shipped.items()}
    engine.close()


def test_log_odds_are_finite() -> None:
    assert all(math.isfinite(log_odds(score)) for score in (0.0, 1.0, 0.5))
