"""Pairs of mined questions: whose texts they are, what stands before them, and that labels are true."""

from __future__ import annotations

import pickle
import random
from collections import Counter

import numpy as np
import pytest

from training.candidates import Asked, Gold, Pack, Text, save
from training.filings import make_company_title
from training.mine import collect_right_texts, join_ranks
from training.mined import Mined, Mixed, draw_weak_points
from training.near_misses import make_near_miss
from training.pair import Pair, held_out

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


def test_chunks_of_one_report_have_one_title_and_foreign_ones_another(mined: Mined) -> None:
    titles: dict[str, set[str]] = {}
    for pair in mined.epoch(5):
        if pair.source in {"mined tatqa right", "mined tatqa same"} and pair.title:
            titles.setdefault(pair.group, set()).add(pair.title)
    assert titles and all(len(found) == 1 for found in titles.values())
    assert len({title for found in titles.values() for title in found}) > 5
    for group, found in titles.items():
        assert found == {make_company_title(random.Random(f"5 {group}"))[2]}


def test_a_question_and_its_texts_are_on_one_side(pairs: list[Pair]) -> None:
    for pair in pairs:
        town = next((f"Bel{n}" for n in range(TOWNS) if f"Bel{n} " in pair.text or f"Bel{n}." in pair.text), None)
        if town and pair.source != "flattered":
            assert held_out(town) == held_out(pair.group)


def test_a_near_miss_names_what_the_text_does_not() -> None:
    dice, text = random.Random(1), "In 1990 the town had a population of 4,000."
    made = {make_near_miss("What was the population in 1990?", text, dice) for _ in range(60)}
    assert len(made) > 4 and "What was the population in 1990?" not in made
    assert all("1990" not in question or "population" not in question for question in made)
    assert make_near_miss("Who paid for it?", text, dice) == "Who paid for it?"


def test_a_mixture_has_at_most_so_many_of_each_part(mined: Mined) -> None:
    class Few:
        def epoch(self, seed: int) -> list[Pair]:
            return [Pair(f"{seed}", f"{n}", 0.0, "g", "few") for n in range(50)]

    found = Mixed([(Few(), 20), (mined, 0)]).epoch(2)
    assert sum(pair.source == "few" for pair in found) == 20
    assert sum(pair.source != "few" for pair in found) == len(mined.epoch(2))


def test_two_rankings_are_joined_and_equal_questions_share_their_right_texts() -> None:
    assert join_ranks([[1, 2, 3], [3, 2, 9]])[:2] == [2, 3] or join_ranks([[1, 2, 3], [3, 2, 9]])[:2] == [3, 2]
    assert join_ranks([[4, 5]]) == [4, 5]
    asked = [Asked("Who?", "a", "x", golds=(Gold(1),)), Asked("who", "b", "y", golds=(Gold(2),))]
    assert list(collect_right_texts(asked).values()) == [{1, 2}]


def test_weak_points_are_seen_and_only_on_held_out_documents(mined: Mined) -> None:
    points = draw_weak_points(mined.pack)
    assert points.same and all(held_out(met.right.group) for met in points.same)

    def by_text(pairs: list[Pair]) -> np.ndarray:
        return np.array([3.0 if "built in" in pair.text or "Revenue" in pair.text else -3.0 for pair in pairs])

    def by_title(pairs: list[Pair]) -> np.ndarray:
        return np.array([3.0 if pair.title else -3.0 for pair in pairs])

    good, bad = points.figures(by_text), points.figures(by_title)
    assert good["same document"] == good["same document first"] == 1.0 and good["title lift"] == 0.0
    assert bad["same document"] == 0.5 and bad["same document first"] == 0.0 and bad["title lift"] == 1.0
