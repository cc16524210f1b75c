"""Pairs packed for another machine are the same pairs, without those held out."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from corpora.pair import Pair, held_out
from training.packed import Packed, Taught, pack_pairs, pair_key, read_said

TEXT = "It rained. Marta Keller designed it in 1930. Nobody came."
FIRST = [
    Pair("Who designed it?", TEXT, 1.0, "a", "one", "Bridges", ((11, 23),), 0.5, 0.25, ((11, 44),)),
    Pair("Who designed it?", "Ümläute — 你好\n| a | b |", 0.0, "b", "two", keeps=()),
    Pair("When?", TEXT, 0.5, "c", "one", keeps=None),
]
SECOND = [Pair("When?", TEXT, 1.0, f"g {number}", "one", spots=((40, 44), (0, 2))) for number in range(12)]


def kept(pairs: list[Pair]) -> list[Pair]:
    return [pair for pair in pairs if not held_out(pair.group)]


def test_epochs_come_back_as_they_were_without_what_is_held_out(tmp_path: Path) -> None:
    counts = pack_pairs([FIRST, SECOND], tmp_path / "pairs.zip")
    packed = Packed(tmp_path / "pairs.zip")
    assert packed.epoch(0) == kept(FIRST) and packed.epoch(1) == kept(SECOND)
    assert 0 < len(kept(SECOND)) < len(SECOND)
    assert counts["pairs"] == len(kept(FIRST)) + len(kept(SECOND)) and counts["epochs"] == 2


@pytest.mark.parametrize("content", [b"", b"no zip file", b"PK\x03\x04 cut off"])
def test_a_damaged_file_says_how_it_is_made_again(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "pairs.zip").write_bytes(content)
    with pytest.raises(ValueError, match=r"training\.lent pack"):
        Packed(tmp_path / "pairs.zip").epoch(0)


def test_pairs_that_a_teacher_judged_have_a_share_of_what_it_says(tmp_path: Path) -> None:
    pack_pairs([FIRST], tmp_path / "pairs.zip")
    judged, *others = kept(FIRST)
    assert others
    np.savez(tmp_path / "said.npz", keys=np.array([pair_key(judged)], np.uint64), logits=np.array([0.0], np.float16))
    taught = Taught(Packed(tmp_path / "pairs.zip"), read_said(tmp_path / "said.npz"), 0.5)
    assert taught.epoch(0) == [replace(judged, target=judged.label / 2 + 0.25)]


def test_the_same_text_behind_another_title_is_judged_by_itself() -> None:
    assert pair_key(FIRST[0]) != pair_key(replace(FIRST[0], title=""))
    assert pair_key(FIRST[0]) == pair_key(replace(FIRST[0], label=0.0, spots=()))
