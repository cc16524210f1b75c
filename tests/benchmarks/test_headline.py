"""The headline benchmark: the paper's scoring, answers that survive a kill, what a model is asked, and the page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.fakes import HashEmbedder
from benchmarks.headline import NO_RETRIEVAL, RAW, Graders, run
from benchmarks.headline_model import Said, asked, digest
from benchmarks.headline_rows import ARMS, Journal, Row, accepted_in, figures
from benchmarks.popqa_cases import Case
from crag.analysis.questions.sets import Question
from crag.testing.fakes import ScriptedEvaluator, chunk_of

INSIDE = "Jane Doe, who was born in Bergen in 1901, wrote novels and short stories for fifty years."
ONLINE = "Jane Doe: Jane Doe was born in Oslo, as her own letters to the press say."
ASKED = "Where was Jane Doe born?"


class Recorder:
    """A model that finds Bergen where it is shown it, and guesses elsewhere. Remembers what it was asked."""

    id = "recorder"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def reply(self, text: str) -> Said:
        self.texts.append(text)
        said = "in Bergen" if "Bergen" in text else "Paris, I guess"
        return Said(text=said, prompt=digest(text), seconds=0.5, input_tokens=len(text.split()), output_tokens=2)


def case(id: str = "1") -> Case:
    return Case(Question(id=id, question=ASKED, answers=("Bergen",)), (chunk_of(INSIDE),), (ONLINE,))


def row(arm: str, id: str, right: bool, **values: object) -> Row:
    plain = Row(
        arm=arm,
        question_id=id,
        made_of="m",
        kind=RAW,
        answer="Bergen" if right else "Oslo",
        right=right,
        stated=right,
        prompt=f"{arm}-{id}",
        seconds=0.1,
        writing=1.0,
        model="some-model",
    )
    return replace(plain, **values)  # type: ignore[arg-type]


def graders(score: float = 0.9) -> Graders:
    return Graders(ScriptedEvaluator(score=lambda text: score), HashEmbedder())


def made(arms: Sequence[str] = ARMS, version: str = "1") -> dict[str, str]:
    return {arm: f"{arm} {version}" for arm in arms}


# ---- scoring -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "accepted", "right"),
    [
        ("She was born in Bergen.", ["Bergen"], True),
        ("politician", ["pol", "politician"], True),
        ("policeman", ["pol"], True),  # the rule knows no words
        ("bergen", ["Bergen"], False),  # nor does it fold letters
        ("Oslo", ["Bergen", ""], False),
        ("", ["Bergen"], False),
    ],
)
def test_the_papers_rule(answer: str, accepted: list[str], right: bool) -> None:
    assert accepted_in(answer, accepted) is right


def test_the_difference_is_taken_question_by_question() -> None:
    rows = [
        *(row("plain-rag", str(place), place < 2, words=300) for place in range(4)),
        *(row("balanced", str(place), place in (1, 2, 3), words=100) for place in range(4)),
        row("balanced", "9", True),
    ]
    found = figures(rows)["all"]
    assert found["arms"]["plain-rag"]["right"]["value"] == 0.5
    assert (found["arms"]["balanced"]["questions"], found["arms"]["balanced"]["right"]["value"]) == (5, 0.8)
    less = found["less"]["balanced"]
    assert (less["questions"], less["gained"], less["lost"]) == (4, 2, 1)
    assert (less["right"]["value"], less["words"]["value"]) == (0.25, -200)
    assert less["right"]["low"] < 0 < less["right"]["high"]
    assert found["arms"]["plain-rag"]["evidence"]["value"] is None


# ---- the journal ---------------------------------------------------------------------------------------------------


def test_a_line_cut_short_by_a_kill_loses_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "rows.jsonl"
    journal = Journal(path)
    journal.add(row("paper", "1", True))
    journal.add(row("paper", "2", True))
    path.write_text(path.read_text(encoding="utf-8")[:-40], encoding="utf-8")
    again = Journal(path)
    assert [each.question_id for each in again.rows] == ["1"]
    again.add(row("paper", "3", True))
    assert [each.question_id for each in Journal(path).rows] == ["1", "3"]


# ---- what the model is asked ---------------------------------------------------------------------------------------


def test_every_arm_has_the_same_prompt_but_for_its_evidence(tmp_path: Path) -> None:
    writer, journal = Recorder(), Journal(tmp_path / "rows.jsonl")
    run([(case(), RAW)], made(), writer, journal, graders(score=0.5))
    shown = {each.arm: text for each, text in zip(journal.rows, writer.texts, strict=True)}
    found = {each.arm: each for each in journal.rows}
    assert all(text.endswith(f"Question: {ASKED}\nAnswer:") for text in writer.texts)
    assert shown[NO_RETRIEVAL] == asked(ASKED) and "Passages" not in shown[NO_RETRIEVAL]
    assert "Bergen" in shown["plain-rag"] and "Oslo" not in shown["plain-rag"]
    assert "Bergen" in shown["paper"] and f"- {ONLINE}" in shown["paper"], "AMBIGUOUS keeps both, no title twice"
    assert found["paper"].action == "AMBIGUOUS" and found["paper"].searches == 1
    assert found["plain-rag"].words == len(INSIDE.split()) and found["plain-rag"].evidence
    assert found["plain-rag"].right and not found[NO_RETRIEVAL].right
    assert found[NO_RETRIEVAL].evidence is None and found[NO_RETRIEVAL].words == 0


# ---- the page ------------------------------------------------------------------------------------------------------
