"""Mined questions: what may count as wrong, how texts are cut, and that a pack comes back as it was written."""

from pathlib import Path

import pytest

from training.candidates import Asked, Gold, Pack, Text, contains_answer, cut_pieces, load, normalize_words, save

PACK = Pack(
    [Text("a", "Title › Part", f"Text {number} with “quotes”\nand lines.") for number in range(300)],
    [
        Asked(
            "Who?", "a", "squad", ("Marta Keller",), (Gold(3, ((0, 4),), ((0, 9),)), Gold(69_999)), (5,), (7, 8), (9,)
        ),
        Asked("When?", "b", "nq"),
        Asked("Where?", "a", "tatqa", (), (Gold(1, (), ()),), (), (65_536, 2), ()),
    ],
)


def test_a_pack_comes_back_as_it_was_written(tmp_path: Path) -> None:
    save(PACK, tmp_path / "pack.zip")
    assert load(tmp_path / "pack.zip") == PACK
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("kept", [0, 10, 0.5, 0.99])
def test_a_pack_that_is_cut_off_is_refused_with_what_to_do(tmp_path: Path, kept: float) -> None:
    save(PACK, tmp_path / "pack.zip")
    content = (tmp_path / "pack.zip").read_bytes()
    (tmp_path / "pack.zip").write_bytes(content[: int(kept * len(content)) if kept < 1 else int(kept)])
    with pytest.raises(ValueError, match=r"training\.mine"):
        load(tmp_path / "pack.zip")


@pytest.mark.parametrize(
    ("text", "answers", "held"),
    [
        ("It was built by Marta Keller in 1950.", ["Marta Keller"], True),
        ("It was built by MARTA KELLER, in 1950.", ["marta keller"], True),
        ("It was built by Marta Kellermann in 1950.", ["Marta Keller"], False),
        ("Revenue was $1,452.4 million.", ["1,452.4"], True),
        ("Revenue was $11,452.4 million.", ["1,452.4"], False),
        ("Yes, it rained.", ["yes"], False),
        ("Nothing is said here.", [], False),
        ("Nothing is said here.", ["?!"], False),
        (
            "The masons of the southern provinces rebuilt the harbour after the great flood.",
            ["After the great flood the harbour was rebuilt by masons who came from southern provinces."],
            True,
        ),
    ],
)
def test_answers_are_looked_for_as_whole_words(text: str, answers: list[str], held: bool) -> None:
    assert contains_answer(normalize_words(text), answers) is held


def test_a_long_text_is_cut_at_sentences_and_loses_nothing() -> None:
    text = " ".join(f"Sentence number {number} says something about a town." for number in range(60))
    pieces = cut_pieces(text)
    assert len(pieces) > 3 and all(end - start <= 700 for start, end in pieces)
    assert "".join(text[start:end].replace(" ", "") for start, end in pieces) == text.replace(" ", "")
    assert cut_pieces("Short.") == [(0, 6)]
    assert cut_pieces("x" * 5000) == [(0, 5000)]
