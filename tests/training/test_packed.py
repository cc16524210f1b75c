"""Pairs packed for another machine are the same pairs, without those held out."""

from pathlib import Path

import pytest

from corpora.pair import Pair, held_out
from training.packed import Packed, pack_pairs

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
