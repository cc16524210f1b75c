"""The embedded index: the contract of all, and what its files go through."""

import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import IndexUnavailableError
from crag.index import vectors
from crag.index.chunk_index import Batch, ChunkIndex, Contents
from crag.index.embedded import EmbeddedIndex
from crag.index.vectors import EXACT
from tests.index.index_contract import DIMENSION, ChunkIndexContract, batch, lexical, unit
from tests.support.shell import line_of, started
from tests.support.sizes import sized

CONTENTS = Contents(library="0" * 32, model="test/1", dimension=DIMENSION)
MANY = EXACT + 5_000
"""Chunks that are too many to be compared one by one."""
DRAWN = unit(2 * MANY, seed=9)


class TestContract(ChunkIndexContract):
    @pytest.fixture(autouse=True)
    def _place(self, tmp_path: Path) -> None:
        self.place = tmp_path / "index"

    def make(self, contents: Contents) -> ChunkIndex:
        return EmbeddedIndex(self.place, contents)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def index(place: Path) -> Iterator[EmbeddedIndex]:
    made = EmbeddedIndex(place, CONTENTS)
    yield made
    made.close()


def again(place: Path) -> EmbeddedIndex:
    return EmbeddedIndex(place, CONTENTS)


def fill(index: EmbeddedIndex, count: int = 12, *, first: int = 1, generation: int = 1) -> None:
    """Chunks of ten to a document, each with a word of its own; chunk n has the vector DRAWN[n]."""
    for start in range(first, first + count, 10):
        numbers = np.arange(start, min(start + 10, first + count))
        texts = [f"the glacier numbered word{number}" for number in numbers]
        none = [""] * len(numbers)
        document = start // 10 + 1
        index.add([Batch(document=document, numbers=numbers, vectors=DRAWN[numbers], contexts=none, texts=texts)])
    index.commit(generation)


def test_an_index_of_other_words_is_filled_again(place: Path) -> None:
    before = EmbeddedIndex(place, replace(CONTENTS, words="an earlier form"))
    fill(before)
    before.close()
    now = again(place)
    assert (now.generation, now.size) == (-1, 0)
    fill(now)
    assert now.top(DRAWN[1], [["word3"]], 3).lexical.any()
    now.close()


@pytest.fixture(scope="module")
def big_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, for each test to copy."""
    place = tmp_path_factory.mktemp("big") / "index"
    made = again(place)
    fill(made, MANY)
    made.wait_for_writers()
    made.close()
    return place


@pytest.fixture
def big(big_files: Path, place: Path) -> Iterator[EmbeddedIndex]:
    shutil.copytree(big_files, place)
    made = again(place)
    yield made
    made.close()


def words_in(index: EmbeddedIndex) -> int:
    """How many chunks' words are on the disk."""
    words = index._current().words
    return words.searcher.num_docs if words else 0


def recall(index: EmbeddedIndex, numbers: np.ndarray, documents: np.ndarray | None = None) -> float:
    """The share of the exact ten nearest that are among the 400 candidates."""
    hits = 0
    for question in unit(40, seed=77):
        found = set(index.top(question, [], 400, documents).numbers.tolist())
        hits += len(found & set(numbers[np.argsort(-(DRAWN[numbers] @ question))[:10]].tolist()))
    return hits / 400


# ---- many chunks -----------------------------------------------------------------------------------------------------


def test_many_vectors_go_into_cells_and_are_found_there(big: EmbeddedIndex) -> None:
    everything = np.arange(1, MANY + 1)
    assert np.array_equal(big.numbers(), everything)
    assert recall(big, everything) >= 0.97
    assert lexical(big.top(unit(), [["word777"]], 5)) == [777]
    assert np.isnan(big.top(DRAWN[777], [], 5).dense).all(), "what 8 bits tell is no cosine"


def test_few_documents_among_many_are_found_whole(big: EmbeddedIndex) -> None:
    two = big.top(unit(), [["glacier"]], 400, np.array([7, 2000]))
    assert sorted(two.numbers.tolist()) == [*range(61, 71), *range(19_991, 20_001)]
    half = np.arange(1, MANY // 10, 2)
    numbers = np.concatenate([np.arange(10 * each - 9, 10 * each + 1) for each in half])
    assert recall(big, numbers, half) >= 0.97
    assert len(big.top(unit(), [], 400, half).numbers) == 400


def test_what_comes_and_goes_after_the_file_was_written_counts_at_once(big: EmbeddedIndex, place: Path) -> None:
    for index in (big, again(place)):
        assert index.generation == 1
        fill(index, 1000, first=MANY + 1, generation=2)
        index.delete(range(1, 101))
        index.commit(3)
        numbers = np.arange(1001, MANY + 1001)
        assert np.array_equal(index.numbers(), numbers)
        assert recall(index, numbers) >= 0.97
        found = index.top(DRAWN[MANY + 5], [["word500", f"word{MANY + 6}"]], 3)
        assert found.dense[found.numbers.tolist().index(MANY + 5)] == pytest.approx(1, abs=1e-3)
        assert lexical(found) == [MANY + 6]
        index.close()
    assert words_in(again(place)) == MANY - 1000 + 1000, "no chunk is in the words twice"


@pytest.mark.parametrize("wanted", [1, 4], ids=["the same cells", "cells made anew"])
def test_the_file_is_written_anew_when_much_has_changed(
    big: EmbeddedIndex, place: Path, wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "_CELLS_PER_ROOT", wanted * vectors._CELLS_PER_ROOT)
    before = (place / "vectors.faiss").read_bytes()
    big.delete(range(1, 601))
    fill(big, 500, first=MANY + 1, generation=2)
    big.wait_for_writers()
    assert (place / "vectors.faiss").read_bytes() != before
    numbers = np.arange(6001, MANY + 501)
    for index in (big, again(place)):
        assert np.array_equal(index.numbers(), numbers)
        assert (index.generation, recall(index, numbers) >= 0.97) == (2, True)
        assert len(index._current().rows.numbers) == 0


def test_what_changes_while_the_file_is_written_is_kept(place: Path, index: EmbeddedIndex) -> None:
    fill(index, MANY)  # It is being written now.
    index.delete([5])
    index.add([batch(9000, 90_000, ["a permit"])])
    index.commit(2)
    index.wait_for_writers()
    assert (place / "vectors.faiss").exists()
    numbers = index.numbers()
    assert len(numbers) == MANY - 10 + 1
    assert not set(range(41, 51)) & set(numbers.tolist())
    assert lexical(index.top(unit(), [["permit"]], 5)) == [90_000]


def test_everything_can_be_deleted(big: EmbeddedIndex, place: Path) -> None:
    big.delete(range(1, MANY))
    big.commit(2)
    big.wait_for_writers()
    for index in (big, again(place)):
        assert (index.size, index.generation) == (0, 2)
        assert not len(index.top(unit(), [["glacier"]], 5).numbers)
    assert (place / "vectors.faiss").stat().st_size < 1_000_000


def test_what_is_gone_takes_no_place_among_the_best(index: EmbeddedIndex) -> None:
    index.add([batch(1, 1, ["glacier"] * 20), batch(2, 21, ["a glacier of many other words"] * 5)])
    index.commit(1)
    index.delete([1])
    index.commit(2)
    assert lexical(index.top(unit(), [["glacier"]], 4)) == [21, 22, 23, 24]
    assert sorted(index.top(unit(), [], 4).numbers.tolist()) != [1, 2, 3, 4]


# ---- files that are not to be believed -------------------------------------------------------------------------------


def files(place: Path) -> list[Path]:
    """What an index stands on, without its locks."""
    return sorted(
        path for path in place.rglob("*") if path.is_file() and not path.name.endswith("lock") and path.name != "making"
    )


@pytest.mark.parametrize("how", ["cut", "emptied", "flipped", "gone", "lengthened"])
def test_a_damaged_file_is_noticed_or_does_no_harm(big: EmbeddedIndex, place: Path, how: str) -> None:
    big.close()
    draw = random.Random(5)
    for path in files(place):
        whole = path.read_bytes()
        if how == "gone":
            path.unlink()
        elif how == "flipped":
            at = draw.randrange(len(whole)) if whole else 0
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :] if whole else b"x")
        else:
            path.write_bytes({"cut": whole[: len(whole) // 2], "emptied": b"", "lengthened": whole + whole[:100]}[how])
        index = again(place)
        found = index.top(unit(), [["glacier"]], 5)
        if index.generation == -1:
            assert (index.size, len(found.numbers), len(index.numbers())) == (0, 0, 0), path.name
        else:
            assert (index.generation, index.size, len(index.numbers())) == (1, MANY, MANY), path.name
            assert len(lexical(found)) == 5, path.name
        index.close()
        path.write_bytes(whole)
    assert again(place).size == MANY


def test_a_damaged_one_is_filled_again_and_leaves_nothing_behind(index: EmbeddedIndex, place: Path) -> None:
    fill(index)
    (place / "vectors.faiss").write_bytes(b"")
    for left in (place / "words" / "left.store", place / "of an earlier version"):
        left.write_bytes(b"x")
    other = again(place)
    assert other.generation == -1
    other.clear()
    assert not [path for path in files(place) if path.is_file()]
    fill(other, generation=5)
    assert (other.size, other.generation) == (12, 5)
    assert (again(place).size, index.size, index.generation) == (12, 12, 5)


def test_an_older_copy_of_the_words_or_of_the_vectors_is_followed_from_there(index: EmbeddedIndex, place: Path) -> None:
    fill(index)
    index.close()
    old, new = place.with_name("old"), place.with_name("new")
    shutil.copytree(place, old)
    index = again(place)
    fill(index, 2_000, first=20, generation=2)
    index.close()
    shutil.copytree(place, new)
    for part in ("words", "vectors.faiss"):
        shutil.rmtree(place)
        shutil.copytree(new, place)
        if part == "words":
            shutil.rmtree(place / "words")
            shutil.copytree(old / "words", place / "words")
        else:
            shutil.copy(old / part, place / part)
        other = again(place)
        assert other.generation == 1
        fill(other, 2_000, first=20, generation=2)
        assert other.numbers().tolist() == [*range(1, 13), *range(20, 2_020)]
        assert words_in(other) == 2_012, "no chunk is in the words twice"
        other.close()


def test_words_of_a_commit_that_was_cut_off_are_not_found(index: EmbeddedIndex, place: Path) -> None:
    """As after a kill between the two files."""
    fill(index)
    before = (place / "words" / "stamp").read_bytes()
    fill(index, 10, first=20, generation=2)
    index.close()
    (place / "words" / "stamp").write_bytes(before)
    other = again(place)
    assert (other.generation, other.size) == (1, 12)
    assert sorted(lexical(other.top(unit(), [["glacier"]], 50))) == [*range(1, 13)]
    fill(other, 10, first=20, generation=2)
    assert sorted(lexical(other.top(unit(), [["glacier"]], 50))) == [*range(1, 13), *range(20, 30)]
    other.close()


# ---- several at once -------------------------------------------------------------------------------------------------


def test_another_takes_the_file_that_one_has_written(place: Path, index: EmbeddedIndex) -> None:
    fill(index)
    other = again(place)
    assert other.size == 12
    fill(index, MANY, first=101, generation=2)
    index.wait_for_writers()
    assert (other.size, other.generation) == (MANY + 12, 2)
    other.close()


def test_two_that_follow_the_same_changes_write_no_word_twice(place: Path, index: EmbeddedIndex) -> None:
    other = again(place)
    for generation in range(1, 6):
        for each in (index, other) if generation % 2 else (other, index):
            fill(each, 10, first=20 * generation, generation=generation)
            if generation > 1:
                each.delete([2 * (generation - 1) + 1])
                each.commit(generation)
    for each in (index, other):
        assert sorted(lexical(each.top(unit(), [["glacier"]], 90))) == each.numbers().tolist() == [*range(100, 110)]
    other.close()


WRITER = """
import sys
from pathlib import Path
from tests.index.test_embedded_index import again, fill
index = again(Path(sys.argv[1]))
generation = index.generation
print("begins", flush=True)
while True:
    generation += 1
    fill(index, 400, first=400 * (generation % 50) + 1, generation=generation)
    print(generation, flush=True)
"""


@pytest.mark.slow
def test_after_each_kill_it_can_be_followed_from_its_generation(place: Path) -> None:
    draw = random.Random(3)
    for _ in range(sized(60, 6)):
        with started("-c", WRITER, place) as writer:
            assert line_of(writer) == "begins\n"
            for _ in range(draw.randrange(1, 6)):
                confirmed = int(line_of(writer))
            if draw.random() < 0.5:
                threading.Event().wait(draw.random() / 20)  # Somewhere within the next commit.
            writer.send_signal(signal.SIGKILL)
        index = again(place)
        assert index.generation <= confirmed + 1
        for generation in range(index.generation + 1, confirmed + 1):
            fill(index, 400, first=400 * (generation % 50) + 1, generation=generation)
        held = index.numbers().tolist()
        assert len(held) == 400 * min(index.generation + 1, 50)
        assert sorted(lexical(index.top(unit(), [["glacier"]], 40_000))) == held
        index.close()


# ---- folders that can't be written -----------------------------------------------------------------------------------


def test_a_folder_that_is_a_file_is_told_at_the_commit(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    index = again(tmp_path / "file" / "index")
    assert index.generation == -1
    index.add([batch(1, 1, ["glacier"])])
    with pytest.raises(IndexUnavailableError) as raised:
        index.commit(1)
    assert str(tmp_path) not in str(raised.value)
    assert index.generation == -1


def test_where_the_vectors_can_t_be_written_they_are_searched_from_memory(
    index: EmbeddedIndex, place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(vectors, "write", fails)
        for generation in range(1, 6):
            fill(index, 10, first=10 * generation, generation=generation)
        assert index.generation == 5
        assert index.numbers().tolist() == [*range(10, 60)]
        assert len([line for line in caplog.messages if "could not be written" in line]) == 1
        assert again(place).generation == -1
    fill(index, 2_000, first=100, generation=6)
    assert again(place).generation == 6


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_stands_is_searched_on(index: EmbeddedIndex, place: Path) -> None:
    """A limit on the size of a file stands in for it: what is written behind it fails."""
    fill(index)
    index.close()
    code = """
import resource, signal, sys
from pathlib import Path
from crag.core.errors import IndexUnavailableError
from tests.index.test_embedded_index import again, fill, lexical, unit
index = again(Path(sys.argv[1]))
assert index.size == 12
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
try:
    fill(index, 400, first=21, generation=2)
except IndexUnavailableError as error:
    print("told:", error.message)
assert (index.size, index.generation) == (12, 1), (index.size, index.generation)
assert len(lexical(index.top(unit(), [["glacier"]], 500))) == 12
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
fill(index, 400, first=21, generation=2)
assert (index.size, index.generation) == (412, 2)
assert len(lexical(index.top(unit(), [["glacier"]], 500))) == 412
index.close()
"""
    for limit in (100, 1000):
        done = subprocess.run(
            [sys.executable, "-c", code, str(place), str(limit)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("told:"), limit
        filled = again(place)
        filled.clear()
        fill(filled)
        filled.close()
