"""Pairs of mined questions: whose texts they are, what stands before them, and that labels are true."""

import pickle
from collections import Counter

import pytest

from corpora.pair import Pair, held_out
from training.candidates import Asked, Gold, Pack, Text, save
from training.mined import Mined

TOWNS = 30


def made() -> Pack:
    """Towns with four chunks each, one of which says when the town hall was built, and a report for each."""
    texts, asked = list[Text](), list[Asked]()
    for number in range(TOWNS):
        town, at = f"Bel{number}", 4 * number
        said = [
            f"The town hall of {town} was built in 18{number:02}.",
            f"{town} has a market on Fridays where bells are sold.",
            f"The river of {town} floods its harbour in spring.",
            f"People of {town} make boats and sell them abroad.",
        ]
        texts += [Text(town, f"{town} (town)", text) for text in said]
        spot = (len(said[0]) - 5, len(said[0]) - 1)
        gold = (Gold(at, (spot,), ((0, len(said[0])),)),)
        near = tuple(
            4 * other for other in range(TOWNS) if other != number and held_out(f"Bel{other}") == held_out(town)
        )
        question = f"When was the town hall of {town} built?"
        asked.append(
            Asked(question, town, "newwiki", (f"18{number:02}",), gold, (), (at + 1, at + 2, at + 3), near[:12])
        )
    for number in range(TOWNS):
        group, at = f"report {number}", len(texts)
        texts += [Text(group, "", f"Revenue | 1{number:02}"), Text(group, "", f"Costs | 9{number:02}")]
        texts += [Text(group, "", f"Employees | 7{number:02}")]
        gold = (Gold(at, (), ((0, 10),)),)
        near = tuple(n for n in range(4 * TOWNS, at, 3) if held_out(texts[n].group) == held_out(group))
        asked.append(
            Asked("What was the revenue?", group, "tatqa", (f"1{number:02}",), gold, (), (at + 1, at + 2), near)
        )
    return Pack(texts, asked)


@pytest.fixture(scope="module")
def mined(tmp_path_factory: pytest.TempPathFactory) -> Mined:
    path = tmp_path_factory.mktemp("pack") / "mined.zip"
    save(made(), path)
    return Mined(path)


@pytest.fixture(scope="module")
def pairs(mined: Mined) -> list[Pair]:
    return [pair for seed in range(8) for pair in mined.epoch(seed)]


def test_the_same_seed_gives_the_same_pairs_in_another_process_too(mined: Mined) -> None:
    assert pickle.loads(pickle.dumps(mined)).epoch(3) == mined.epoch(3) != mined.epoch(4)


def test_labels_are_true(pairs: list[Pair]) -> None:
    for pair in pairs:
        if pair.source == "flattered":
            continue
        right = f"{pair.group} was built in" in pair.text or "Revenue" in pair.text
        if pair.label:
            assert right and not pair.source.endswith(("missed", "foreign", "same", "near", "found"))
            assert pair.keeps and all(pair.text[start:end] for start, end in pair.keeps)
        elif right and pair.source.startswith("mined newwiki"):
            assert pair.source.endswith("missed")


def test_half_of_the_wrong_texts_are_of_the_same_document_with_the_same_title(pairs: list[Pair]) -> None:
    wrong = Counter(pair.source.split()[-1] for pair in pairs if not pair.label and pair.source != "flattered")
    assert wrong["same"] >= sum(wrong.values()) / 2
    for pair in pairs:
        if pair.source == "mined newwiki same" and pair.title:
            assert pair.title == f"{pair.group} (town)" and pair.group in pair.text


def test_a_question_and_its_texts_are_on_one_side(pairs: list[Pair]) -> None:
    for pair in pairs:
        town = next((f"Bel{n}" for n in range(TOWNS) if f"Bel{n} " in pair.text or f"Bel{n}." in pair.text), None)
        if town and pair.source != "flattered":
            assert held_out(town) == held_out(pair.group)
