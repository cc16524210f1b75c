"""The embedded index: the contract of all, and what its files go through."""

import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from crag.core.errors import IndexUnavailableError
from crag.index.chunk_index import Batch, ChunkIndex, Contents
from crag.index.embedded import EmbeddedIndex
from crag.index.vectors import EXACT
from crag.testing.index_contract import DIMENSION, ChunkIndexContract, batch, lexical, unit
from tests.support.sizes import sized

CONTENTS = Contents(library="0" * 32, model="test/1", dimension=DIMENSION)
MANY = EXACT + 5_000
"""Chunks that are too many to be searched exactly."""


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


def filled(index: EmbeddedIndex, count: int = 12, *, first: int = 1, generation: int = 1) -> None:
    """Chunks of ten to a document, each with a word of its own; chunk n has the vector `vectors()[n]`."""
    drawn = vectors()
    for start in range(first, first + count, 10):
        numbers = np.arange(start, min(start + 10, first + count))
        texts = [f"the glacier numbered word{number}" for number in numbers]
        index.add(
            [
                Batch(
                    document=start // 10 + 1,
                    numbers=numbers,
                    vectors=drawn[numbers],
                    contexts=[""] * len(numbers),
                    texts=texts,
                )
            ]
        )
    index.commit(generation)


_DRAWN = unit(2 * MANY, seed=9)


def vectors() -> np.ndarray:
    return _DRAWN


def exactly(vector: np.ndarray, numbers: np.ndarray, k: int) -> set[int]:
    cosines = vectors()[numbers] @ vector
    return set(numbers[np.argsort(-cosines)[:k]].tolist())


# ---- a big one -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def big_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once, for each test to copy."""
    place = tmp_path_factory.mktemp("big") / "index"
    made = EmbeddedIndex(place, CONTENTS)
    filled(made, MANY)
    made.wait_for_writers()
    made.close()
    assert list(place.glob("*.faiss"))
    return place


@pytest.fixture
def big(big_files: Path, place: Path) -> Iterator[EmbeddedIndex]:
    shutil.copytree(big_files, place)
    made = EmbeddedIndex(place, CONTENTS)
    yield made
    made.close()


def recall(index: EmbeddedIndex, numbers: np.ndarray, documents: np.ndarray | None = None) -> float:
    """The share of the exact ten nearest that are among the 400 candidates."""
    hits = 0
    for question in unit(40, seed=77):
        found = set(index.top(question, [], 400, documents).numbers.tolist())
        hits += len(found & exactly(question, numbers, 10))
    return hits / 400


def test_many_vectors_go_into_cells_and_are_found_there(big: EmbeddedIndex, place: Path) -> None:
    everything = np.arange(1, MANY + 1)
    for index in (big, again(place)):
        assert index.size == MANY
        assert np.array_equal(index.numbers(), everything)
        assert recall(index, everything) >= 0.97
        assert lexical(index.top(unit(), [["word777"]], 5)) == [777]
        assert np.isnan(index.top(vectors()[777], [], 5).dense).all()


def test_few_documents_among_many_are_found_whole(big: EmbeddedIndex) -> None:
    two = big.top(unit(), [["glacier"]], 400, np.array([7, 2000]))
    assert sorted(two.numbers.tolist()) == [*range(61, 71), *range(19_991, 20_001)]
    half = np.arange(1, MANY // 10, 2)
    numbers = np.concatenate([np.arange(10 * each - 9, 10 * each + 1) for each in half])
    assert recall(big, numbers, half) >= 0.97
    assert len(big.top(unit(), [], 400, half).numbers) == 400


def test_what_comes_after_is_found_with_what_was_there(big: EmbeddedIndex, place: Path) -> None:
    filled(big, 1000, first=MANY + 1, generation=2)
    big.delete(range(1, 101))
    big.commit(3)
    numbers = np.arange(1001, MANY + 1001)
    for index in (big, again(place)):
        assert np.array_equal(index.numbers(), numbers)
        assert recall(index, numbers) >= 0.97
        found = index.top(vectors()[MANY + 5], [["word500", f"word{MANY + 6}"]], 3)
        assert found.dense[found.numbers.tolist().index(MANY + 5)] == pytest.approx(1, abs=1e-3)
        assert lexical(found) == [MANY + 6]


def test_the_main_file_is_made_anew_when_much_has_changed(big: EmbeddedIndex, place: Path) -> None:
    (before,) = place.glob("*.faiss")
    big.delete(range(1, 301))
    big.commit(2)
    big.wait_for_writers()
    (after,) = place.glob("*.faiss")
    assert after.name != before.name
    numbers = np.arange(3001, MANY + 1)
    for index in (big, again(place)):
        assert np.array_equal(index.numbers(), numbers)
        assert (index.generation, recall(index, numbers) >= 0.97) == (2, True)
    filled(big, 10, first=1, generation=3)
    assert big.size == MANY - 3000 + 10


def test_what_changes_while_the_main_file_is_made_is_kept(place: Path, index: EmbeddedIndex) -> None:
    filled(index, MANY)  # It is being made now.
    index.delete([5])
    index.add([batch(9000, 90_000, ["a permit"]), batch(1, 1, ["replaced"])])
    index.commit(2)
    index.wait_for_writers()
    assert list(place.glob("*.faiss"))
    for each in (index, again(place)):
        numbers = each.numbers()
        assert len(numbers) == MANY - 10 + 1
        assert not set(range(41, 51)) & set(numbers.tolist())
        assert lexical(each.top(unit(), [["permit"]], 5)) == [90_000]
        assert lexical(each.top(unit(), [["replaced"]], 5)) == [1]
        assert not lexical(each.top(unit(), [["word1"]], 5))
        assert 1 in each.top(unit(1, seed=1)[0], [], 1).numbers


def test_everything_can_be_deleted(big: EmbeddedIndex, place: Path) -> None:
    big.delete(range(1, MANY))
    big.commit(2)
    big.wait_for_writers()
    for index in (big, again(place)):
        assert (index.size, index.generation) == (0, 2)
        assert not len(index.top(unit(), [["glacier"]], 5).numbers)
    assert not list(place.glob("*.faiss"))


def test_dead_rows_of_a_small_one_leave_the_disk(index: EmbeddedIndex, place: Path) -> None:
    for turn in range(3):
        filled(index, 9000, first=1, generation=2 * turn)
        index.delete(range(1, 1000))
        index.commit(2 * turn + 1)
    index.wait_for_writers()
    assert sum(path.stat().st_size for path in place.glob("*.journal")) < 2 * 9000 * (DIMENSION * 4 + 16)
    assert again(place).size == 0


def test_what_is_gone_takes_no_place_among_the_best(index: EmbeddedIndex, place: Path) -> None:
    index.add([batch(1, 1, ["glacier"] * 20), batch(2, 21, ["a glacier of many other words"] * 5)])
    index.commit(1)
    index.add([batch(2, 21, ["a permit"])])
    index.delete([1])
    index.commit(2)
    for each in (index, again(place)):
        assert lexical(each.top(unit(), [["glacier"]], 4)) == [22, 23, 24, 25]
        assert lexical(each.top(unit(), [["permit"]], 4)) == [21]


# ---- files that are not to be believed -------------------------------------------------------------------------------


def files(place: Path) -> list[Path]:
    """What an index stands on, without its locks."""
    return sorted(
        path for path in place.rglob("*") if path.is_file() and not path.name.endswith("lock") and path.name != "making"
    )


@pytest.mark.parametrize("how", ["cut", "emptied", "flipped", "gone", "lengthened"])
def test_a_damaged_file_is_noticed_or_does_no_harm(big: EmbeddedIndex, place: Path, how: str) -> None:
    filled(big, 10, first=MANY + 1, generation=2)
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
            assert (index.generation, index.size, len(index.numbers())) == (2, MANY + 10, MANY + 10), path.name
            assert len(lexical(found)) == 5, path.name
        index.close()
        path.write_bytes(whole)
    assert again(place).size == MANY + 10


def test_a_damaged_one_is_filled_again_and_leaves_nothing_behind(index: EmbeddedIndex, place: Path) -> None:
    filled(index)
    (journal,) = place.glob("*.journal")
    journal.write_bytes(b"")
    (place / "left.part").write_bytes(b"x")
    other = again(place)
    assert other.generation == -1
    filled(other, generation=5)
    assert (other.size, other.generation) == (12, 5)
    assert not journal.exists()
    assert not (place / "left.part").exists()
    assert (again(place).size, index.size, index.generation) == (12, 12, 5)


def test_an_older_copy_of_the_words_is_not_believed(index: EmbeddedIndex, place: Path) -> None:
    filled(index)
    index.wait_for_writers()
    (words,) = place.glob("*.words")
    old = {path.name: path.read_bytes() for path in words.iterdir()}
    filled(index, 10, first=20, generation=2)
    index.close()
    for path in words.iterdir():
        path.unlink()
    for name, data in old.items():
        (words / name).write_bytes(data)
    assert again(place).generation == -1


def test_the_words_may_be_ahead_of_the_stamp(index: EmbeddedIndex, place: Path) -> None:
    """As after a kill between the two."""
    filled(index)
    before = (place / "manifest.json").read_bytes()
    index.delete([1])
    filled(index, 10, first=20, generation=2)
    index.close()
    (place / "manifest.json").write_bytes(before)
    other = again(place)
    assert (other.generation, other.size) == (1, 12)
    assert not set(lexical(other.top(unit(), [["glacier"]], 50))) - set(range(1, 13))
    other.delete([1])
    filled(other, 10, first=20, generation=2)
    assert (other.generation, other.numbers().tolist()) == (2, [11, 12, *range(20, 30)])
    assert sorted(lexical(other.top(unit(), [["glacier"]], 50))) == [11, 12, *range(20, 30)]
    other.close()


def test_what_a_cut_off_commit_left_goes_with_the_next_whatever_comes_then(index: EmbeddedIndex, place: Path) -> None:
    """An index that is filled again from the beginning adds other chunks first."""
    filled(index)
    before = (place / "manifest.json").read_bytes()
    filled(index, 10, first=20, generation=1)
    index.close()
    (place / "manifest.json").write_bytes(before)
    other = again(place)
    filled(other, generation=1)
    filled(other, 10, first=20, generation=2)
    assert sorted(lexical(other.top(unit(), [["glacier"]], 50))) == [*range(1, 13), *range(20, 30)]
    other.close()
    reopened = again(place)
    assert (reopened.generation, reopened.size) == (2, 22), "no chunk is in the words twice"
    reopened.close()


# ---- several at once -------------------------------------------------------------------------------------------------


def test_another_goes_on_when_the_main_file_is_made(place: Path, index: EmbeddedIndex) -> None:
    filled(index)
    other = again(place)
    assert other.size == 12
    filled(index, MANY, first=101, generation=2)
    index.wait_for_writers()
    assert (other.size, other.generation) == (MANY + 12, 2)
    filled(other, 10, first=20, generation=3)
    assert index.size == MANY + 22
    other.close()


def test_commits_of_two_at_once_all_count(index: EmbeddedIndex, place: Path) -> None:
    other = again(place)

    def work(which: EmbeddedIndex, first: int) -> None:
        for turn in range(10):
            filled(which, 10, first=first + 20 * turn, generation=turn)

    threads = [threading.Thread(target=work, args=(index, 10)), threading.Thread(target=work, args=(other, 20))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert index.size == other.size == 200
    other.close()


WRITER = """
import sys
from pathlib import Path
from crag.index.chunk_index import Contents
from crag.index.embedded import EmbeddedIndex
from tests.index.test_embedded_index import CONTENTS, filled
index = EmbeddedIndex(Path(sys.argv[1]), CONTENTS)
generation = index.generation
print("begins", flush=True)
while True:
    generation += 1
    filled(index, 40, first=40 * (generation % 50) + 1, generation=generation)
    print(generation, flush=True)
"""


@pytest.mark.slow
def test_after_each_kill_all_that_was_confirmed_is_there(place: Path) -> None:
    draw = random.Random(3)
    for _ in range(sized(60, 6)):
        with subprocess.Popen([sys.executable, "-c", WRITER, str(place)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout
            assert writer.stdout.readline() == "begins\n"
            for _ in range(draw.randrange(1, 6)):
                confirmed = int(writer.stdout.readline())
            if draw.random() < 0.5:
                threading.Event().wait(draw.random() / 50)  # Somewhere within the next commit.
            writer.send_signal(signal.SIGKILL)
        index = again(place)
        assert index.generation in (confirmed, confirmed + 1)
        assert index.size == 40 * min(index.generation + 1, 50) or index.generation < 50
        words = set(lexical(index.top(unit(), [["glacier"]], 4000)))
        assert words <= set(index.numbers().tolist())
        filled(index, 1, first=40 * (index.generation % 50) + 1, generation=index.generation)  # Nobody holds the lock.
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


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_stands_is_searched_on(index: EmbeddedIndex, place: Path) -> None:
    """A limit on the size of a file stands in for it: what is written behind it fails."""
    filled(index)
    index.close()
    code = """
import resource, signal, sys
from pathlib import Path
from crag.core.errors import IndexUnavailableError
from tests.index.test_embedded_index import EmbeddedIndex, CONTENTS, filled, lexical, unit
index = EmbeddedIndex(Path(sys.argv[1]), CONTENTS)
assert index.size == 12
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), hard))
try:
    filled(index, 400, first=21, generation=2)
except IndexUnavailableError as error:
    print("told:", error.message)
assert (index.size, index.generation) == (12, 1), (index.size, index.generation)
assert len(lexical(index.top(unit(), [["glacier"]], 500))) == 12
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
filled(index, 400, first=21, generation=2)
assert (index.size, index.generation) == (412, 2)
assert len(lexical(index.top(unit(), [["glacier"]], 500))) == 412
index.close()
"""
    for limit in (100, 1000, 5000, 20_000):
        done = subprocess.run(
            [sys.executable, "-c", code, str(place), str(limit)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("told:"), limit
        index.clear()
        filled(index)
        index.close()
