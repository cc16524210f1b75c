"""The sets of the train folder: a document is on one side of the split, and pairs say the truth about their text."""

import gzip
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from corpora.altering import ahead, around, attacked, cut, joined, windows
from corpora.pair import Pair, held_out
from corpora.sources import Sources
from corpora.sources.checks import MOST, checks
from corpora.sources.documents import Documents, plain
from corpora.sources.flattering import flattered
from corpora.sources.stored import ARTICLES, FIRST, SETS
from corpora.sources.tables import cells, chunked

ARTICLE = """{name} lies on the river Oder, where two old trade roads meet, and has a small harbour of its own. \
The town hall of {name} was built in 15{n:02} by masons from the south. The market of {name} is on Fridays. \
In {n} small workshops people of {name} make bells that are sold in many countries of the continent."""


def told(number: int) -> tuple[str, str]:
    """A made-up town's name and paragraph."""
    name = f"Bel{'aeiou'[number % 5]}{'bdfgklmnprst'[number % 12]}o{number}"
    return name, ARTICLE.format(name=name, n=10 + number)


def passage(text: str, label: float | None, title: str = "", mark: str = "", **more: Any) -> dict[str, Any]:
    at = text.find(mark) if mark else -1
    spans = [[at, at + len(mark)]] if at >= 0 else []
    evidence = [list(span) for span in around(text, [(at, at + len(mark))])] if at >= 0 else []
    found = {"title": title, "text": text, "label": label, "spans": spans, "evidence_sentences": evidence}
    return {**found, "kind": "gold" if label else "distractor", **more}


def row(number: int, question: str, passages: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"id": f"{number}", "question": question, "answers": [], "answerable": True, "passages": passages, **more}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Towns whose paragraphs stand in several sets: whole and with a title, whole without, and as sentences."""
    folder = tmp_path_factory.mktemp("data")
    sets: dict[str, list[dict[str, Any]]] = {name: [] for name in SETS}
    articles = []
    for number in range(60):
        name, text = told(number)
        _, other = told(number + 1)
        when = f"15{10 + number:02}"
        question = f"When was the town hall of {name} built by masons?"
        sentence = text.split(". ")[1] + "."
        qa = {"id": f"{number}", "question": question, "answers": [{"text": when, "answer_start": text.index(when)}]}
        if number % 2:
            articles.append({"title": name, "paragraphs": [{"context": text, "qas": [qa]}]})
        else:
            titled = passage(text, 1, f"{name} — History", when)
            sets["squadshifts_newwiki"].append(row(number, question, [titled, passage(other, 0, told(number + 1)[0])]))
        sets["squad_train_extra"].append(row(number, question, [passage(text, 1, "", when), passage(other, 0)]))
        sets["squad_sentences"].append(row(number, question, [passage(sentence, 1, "", when)], unit="sentence"))
        asked = f"When was the church of {name} built by masons?"
        sets["squad_unansq"] += [
            {**row(number, question, [passage(text, 1, "", when)], pair=f"u{number}"), "id": f"a{number}"},
            {**row(number, asked, [passage(text, 0)], pair=f"a{number}"), "id": f"u{number}", "answerable": False},
        ]
        verdict = "SUPPORTS" if number % 3 else "REFUTES"
        claim = f"The town hall of {name} was built in {when}."
        sets["fever_part"].append(row(number, claim, [passage(sentence, 1)], task="claim", verdict=verdict))
    (folder / "train").mkdir()
    for name, rows in sets.items():
        with gzip.open(folder / "train" / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(json.dumps(each) + "\n" for each in rows)
    with gzip.open(folder / "train" / f"{ARTICLES}.json.gz", "wt", encoding="utf-8") as file:
        json.dump({"data": articles}, file)
    for name in FIRST:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("[]")
    return folder


@pytest.fixture(scope="module")
def sources(data: Path) -> Sources:
    return Sources(data, Documents())


@pytest.fixture(scope="module")
def epoch(sources: Sources) -> list[Pair]:
    return list(sources.epoch(3))


def test_a_text_is_on_one_side_of_the_split_whatever_set_it_stands_in(sources: Sources, epoch: list[Pair]) -> None:
    sides: dict[str, set[bool]] = {}
    for pair in epoch:
        sides.setdefault(plain(pair.text), set()).add(held_out(pair.group))
    assert {True, False} == {side for each in sides.values() for side in each}
    assert all(len(each) == 1 for each in sides.values())
    for number in range(60):
        name, text = told(number)
        sentence = text.split(". ")[1] + "."
        groups = {sources.documents.group(text), sources.documents.group(sentence), sources.documents.group("", name)}
        assert len(groups) == 1


def test_an_epoch_is_the_same_for_the_same_seed(sources: Sources, epoch: list[Pair]) -> None:
    assert list(sources.epoch(3)) == epoch
    assert list(sources.epoch(4)) != epoch


def test_pairs_say_the_truth_about_their_text(epoch: list[Pair]) -> None:
    assert {pair.source.split()[0] for pair in epoch} >= {"unansq", "newwiki", "squads", "squadx", "squad44", "fever"}
    for pair in epoch:
        for start, end in (*pair.spots, *(pair.keeps or ())):
            assert 0 <= start < end <= len(pair.text)
        if pair.label:
            assert pair.keeps != ()
            for start, end in pair.keeps or ():
                assert "town hall" in pair.text[start:end]
        else:
            assert not pair.spots and not pair.keeps


TABLE = cells(
    " | 2019 | 2018\nFixed Price | $ 1,452.4 | $ 1,146.2\nOther | 44.1 | 56.7\nTotal sales | $1,496.5 | $1,202.9"
)


def test_a_table_is_written_as_the_product_writes_it() -> None:
    (piece,) = chunked([TABLE], "Report")
    assert piece.context == "Report"
    assert piece.text.split("\n")[1:] == [
        "Fixed Price: 2019 $1,452.4; 2018 $1,146.2",
        "Other: 2019 44.1; 2018 56.7",
        "Total sales: 2019 $1,496.5; 2018 $1,202.9",
    ]
    ((start, end),) = piece.keeps(0, {2})
    assert piece.text[start:end] == "Other: 2019 44.1; 2018 56.7"


def kept(pair: Pair) -> list[str]:
    return [pair.text[start:end] for start, end in pair.keeps or ()]


def test_what_is_to_be_kept_is_carried_along() -> None:
    sentences = [f"Sentence number {n} says something about the matter at hand, as all of them do." for n in range(40)]
    text, keeps = joined(sentences, {20})
    pair = Pair("What does it say?", text, 1.0, "g", "s", "Title", keeps=keeps)
    assert kept(pair) == [sentences[20]]
    assert [pair.read[start:end] for start, end in pair.read_keeps or ()] == [sentences[20]]
    assert replace(pair, keeps=None).read_keeps is None
    dice = random.Random(1)
    for _ in range(20):
        assert kept(cut(pair, dice)) == [sentences[20]]
        for run in windows(pair, dice):
            assert kept(run) == ([sentences[20]] if run.label else [])
        assert kept(attacked(pair, dice)) == [sentences[20]]
    assert kept(ahead(pair, "Said before. ")) == [sentences[20]]
    assert ahead(replace(pair, keeps=None), "Said before. ").keeps is None


def test_flattery_changes_no_label_and_is_no_evidence() -> None:
    question = "When was the town hall of {} built by masons?"
    pairs = []
    for number in range(200):
        name, text = told(number)
        keeps = around(text, [(text.index(" masons"), text.index(" masons") + 3)])
        pairs.append(Pair(question.format(name), text, 1.0, name, "a passage", keeps=keeps))
        pairs.append(
            Pair(question.format(name), f"Nothing of the kind is said of {number}. " * 3, 0.0, name, "b", keeps=())
        )
    made = list(flattered(pairs, 300, random.Random(2)))
    assert 200 < len(made) <= 300
    assert 0.2 < sum(pair.label for pair in made) / len(made) < 0.5
    names = {pair.question: pair.group for pair in pairs}
    for pair in made:
        assert pair.group == names[pair.question]
        assert all("town hall" in text and pair.group in text for text in kept(pair))
        assert bool(pair.keeps) == bool(pair.label)


def test_checks_are_held_out_and_of_one_size(sources: Sources) -> None:
    found = checks(sources)
    assert {"unansq", "near", "keep"} <= set(found)
    assert all(held_out(pair.group) for pairs in found.values() for pair in pairs)
    assert all(0 < len(pairs) <= MOST for pairs in found.values())
    assert all(pair.keeps for pair in found["keep"])
