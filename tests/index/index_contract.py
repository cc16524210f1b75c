"""What every chunk index must do. A test class inherits this and gives `make`."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from crag.index.chunk_index import Batch, Candidates, ChunkIndex, Contents, Vectors

DIMENSION = 16
WORDS = ["engine", "revenue", "glacier", "permit", "turbine", "dividend", "runway", "contract"]


def unit(*shape: int, seed: int = 0) -> Vectors:
    """Random directions."""
    drawn = np.random.default_rng(seed).normal(size=(*shape, DIMENSION)).astype(np.float32)
    found: Vectors = drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    return found


def batch(document: int, first: int, texts: Sequence[str], *, seed: int = 0, contexts: Sequence[str] = ()) -> Batch:
    """Chunks of one document, numbered from `first` on."""
    return Batch(
        document=document,
        numbers=np.arange(first, first + len(texts), dtype=np.int64),
        vectors=unit(len(texts), seed=seed or document),
        contexts=contexts or [""] * len(texts),
        texts=texts,
    )


def lexical(found: Candidates) -> list[int]:
    """The chunks that were found by words, best first."""
    order = sorted(range(len(found.numbers)), key=lambda at: (-found.lexical[at], found.numbers[at]))
    return [int(found.numbers[at]) for at in order if found.lexical[at] > 0]


class ChunkIndexContract:
    """Inherit and implement `make`, which is also asked for the same index again, as the next start or another process
    does while the first is still open. What that one lacks then, by its generation, is given to it again."""

    def make(self, contents: Contents) -> ChunkIndex:
        """The index of these contents in a place that is this test's alone: asked again, the same place."""
        raise NotImplementedError

    @pytest.fixture
    def contents(self) -> Contents:
        return Contents(library=secrets.token_hex(16), model="test/1", dimension=DIMENSION)

    @pytest.fixture
    def index(self, contents: Contents) -> Iterator[ChunkIndex]:
        made = self.make(contents)
        yield made
        made.close()

    @pytest.fixture
    def three(self, index: ChunkIndex) -> ChunkIndex:
        """Three documents: chunks 1 to 4, 5 to 8 and 9 to 12."""
        self.change(
            index,
            3,
            added=[
                batch(
                    document, 4 * document - 3, [f"the {word} of part {n} was measured in {2000 + n}" for n in range(4)]
                )
                for document, word in enumerate(["glacier", "turbine", "dividend"], start=1)
            ],
        )
        return index

    def change(
        self, index: ChunkIndex, generation: int, *, added: Sequence[Batch] = (), deleted: Sequence[int] = ()
    ) -> None:
        """Delete, add and commit, and note it as the records do."""
        self.changes.append((generation, added, deleted))
        self._apply(index, generation, added, deleted)

    def _apply(self, index: ChunkIndex, generation: int, added: Sequence[Batch], deleted: Sequence[int]) -> None:
        index.delete(deleted)
        index.add(added)
        index.commit(generation)

    def test_a_new_one_holds_nothing(self, index: ChunkIndex) -> None:
        assert index.generation == -1
        assert index.size == 0
        assert not len(index.numbers())
        assert not len(index.top(unit(), [["engine"]], 5).numbers)

    def test_the_nearest_are_found_with_their_cosines(self, three: ChunkIndex) -> None:
        vectors = np.concatenate([unit(4, seed=document) for document in (1, 2, 3)])
        for row in range(12):
            found = three.top(vectors[row], [], 3)
            cosines = vectors @ vectors[row]
            best = set((np.argsort(-cosines)[:3] + 1).tolist())
            assert best <= set(found.numbers.tolist())
            for number, dense in zip(found.numbers, found.dense, strict=True):
                assert np.isnan(dense) or dense == pytest.approx(cosines[number - 1], abs=1e-3)

    def test_no_chunk_comes_twice(self, three: ChunkIndex) -> None:
        found = three.top(unit(), [["glacier", "measured"], ["turbine"]], 12)
        assert len(set(found.numbers.tolist())) == len(found.numbers) == len(found.dense) == len(found.lexical) == 12

    def test_words_find_the_chunks_that_have_them(self, three: ChunkIndex) -> None:
        found = three.top(unit(), [["glacier"]], 5)
        assert sorted(lexical(found)) == [1, 2, 3, 4]
        assert not lexical(three.top(unit(), [["zebra"]], 5))
        assert not lexical(three.top(unit(), [], 5))

    def test_a_rare_word_counts_more_than_a_common_one(self, three: ChunkIndex) -> None:
        assert lexical(three.top(unit(), [["measured", "2002", "turbine"]], 12))[0] == 7

    def test_another_form_of_a_word_is_the_same_word(self, index: ChunkIndex) -> None:
        index.add([batch(1, 1, ["The committees were measuring rainfalls", "Nothing of the kind"])])
        index.commit(1)
        assert lexical(index.top(unit(), [["measured"]], 5)) == [1]
        assert lexical(index.top(unit(), [["committee"]], 5)) == [1]

    def test_case_and_accents_do_not_matter(self, index: ChunkIndex) -> None:
        index.add([batch(1, 1, ["RÉSUMÉ of the Café", "nothing"])])
        index.commit(1)
        assert lexical(index.top(unit(), [["cafe"]], 5)) == [1]
        assert lexical(index.top(unit(), [["résumé"]], 5)) == [1]

    def test_a_word_in_the_context_counts_twice(self, index: ChunkIndex) -> None:
        rest = "the annual report of the board on many other things"
        index.add([batch(1, 1, [f"glacier {rest}", rest, rest], contexts=["board", "glacier", "board"])])
        index.commit(1)
        assert lexical(index.top(unit(), [["glacier"]], 5)) == [2, 1]

    def test_the_scores_of_two_groups_are_added(self, three: ChunkIndex) -> None:
        def score(*groups: list[str]) -> float:
            found = three.top(unit(), groups, 12)
            return float(found.lexical[found.numbers.tolist().index(7)])

        assert score(["turbine"], ["2002"]) == pytest.approx(score(["turbine"]) + score(["2002"]), rel=1e-3)

    def test_only_the_documents_asked_of_are_searched(self, three: ChunkIndex) -> None:
        found = three.top(unit(), [["measured"]], 4, np.array([1, 3]))
        assert set(found.numbers.tolist()) <= {1, 2, 3, 4, 9, 10, 11, 12}
        assert len(found.numbers) >= 4
        only = three.top(unit(), [["measured"]], 12, np.array([2]))
        assert sorted(only.numbers.tolist()) == sorted(lexical(only)) == [5, 6, 7, 8]
        assert not len(three.top(unit(), [["measured"]], 4, np.array([77])).numbers)
        assert not len(three.top(unit(), [["measured"]], 4, np.zeros(0, np.int64)).numbers)

    def test_a_deleted_document_is_found_no_more(self, three: ChunkIndex, contents: Contents) -> None:
        self.change(three, 4, deleted=[2, 99])
        for index in (three, self._again(three, contents)):
            found = index.top(unit(), [["turbine", "measured"]], 12)
            assert sorted(found.numbers.tolist()) == [1, 2, 3, 4, 9, 10, 11, 12]
            assert index.numbers().tolist() == [1, 2, 3, 4, 9, 10, 11, 12]
            assert (index.size, index.generation) == (8, 4)

    def test_what_was_added_is_there_after_the_next_start(self, three: ChunkIndex, contents: Contents) -> None:
        again = self._again(three, contents)
        assert (again.generation, again.size) == (3, 12)
        assert again.numbers().tolist() == list(range(1, 13))
        assert sorted(lexical(again.top(unit(), [["dividend"]], 5))) == [9, 10, 11, 12]

    def test_what_was_not_committed_is_gone_after_the_next_start_or_replaced(
        self, three: ChunkIndex, contents: Contents
    ) -> None:
        three.add([batch(4, 13, ["a permit for the runway"])])
        again = self._again(three, contents)
        assert again.generation == 3
        again.add([batch(4, 13, ["a permit for the runway"])])
        again.commit(4)
        assert (again.generation, again.size) == (4, 13)
        assert lexical(again.top(unit(), [["runway"]], 5)) == [13]

    def test_adding_and_deleting_again_changes_nothing(self, three: ChunkIndex) -> None:
        three.add([batch(2, 5, [f"the turbine of part {n} was measured in {2000 + n}" for n in range(4)])])
        three.delete([7])
        three.commit(5)
        assert three.size == 12
        assert three.numbers().tolist() == list(range(1, 13))
        assert sorted(lexical(three.top(unit(), [["turbine"]], 12))) == [5, 6, 7, 8]

    def test_a_document_may_come_in_batches(self, index: ChunkIndex) -> None:
        texts = [f"a contract on {word}" for word in WORDS]
        index.add([batch(1, 1, texts[:4], seed=5)])
        index.add([batch(1, 5, texts[4:], seed=6), batch(2, 9, ["a contract on nothing"])])
        index.commit(1)
        assert index.size == 9
        assert len(lexical(index.top(unit(), [["contract"]], 20))) == 9
        index.delete([1])
        index.commit(2)
        assert index.numbers().tolist() == [9]

    def test_add_and_delete_in_one_commit(self, three: ChunkIndex) -> None:
        three.add([batch(4, 13, ["a permit for the runway"])])
        three.delete([4, 1])
        three.add([batch(5, 14, ["another permit"])])
        three.commit(6)
        assert three.numbers().tolist() == [*range(5, 13), 14]
        assert lexical(three.top(unit(), [["permit"]], 5)) == [14]

    def test_a_commit_of_nothing_notes_the_generation(self, three: ChunkIndex, contents: Contents) -> None:
        self.change(three, 9)
        assert three.generation == 9
        assert self._again(three, contents).generation == 9

    def test_clear_forgets_everything(self, three: ChunkIndex, contents: Contents) -> None:
        three.clear()
        self.changes.clear()
        for index in (three, self._again(three, contents)):
            assert (index.generation, index.size) == (-1, 0)
            assert not len(index.top(unit(), [["measured"]], 5).numbers)
        three.add([batch(1, 1, ["glacier"])])
        three.commit(10)
        assert lexical(three.top(unit(), [["glacier"]], 5)) == [1]

    def test_another_library_and_another_model_see_nothing_of_it(self, three: ChunkIndex, contents: Contents) -> None:
        for other in (
            Contents(library=secrets.token_hex(16), model=contents.model, dimension=DIMENSION),
            Contents(library=contents.library, model="test/2", dimension=DIMENSION),
        ):
            index = self.make(other)
            assert index.generation == -1
            assert not len(index.top(unit(), [["measured"]], 5).numbers)
            assert not len(index.numbers())
            index.close()

    @pytest.mark.parametrize(
        "words",
        [
            ['"', "'", "\\", "(", "*", "a:b", "-x", "^2", "AND", "OR", "NOT", "NEAR"],
            ["", " ", "\x00", "\ud800", "glacier\x00"],
            ["x" * 100_000],
            ["漢字", "конец", "😀", "ß"],
            ["') or 1=1 --", "workspace != ''", "%", "_", "{", "$["],
        ],
    )
    def test_any_words_can_be_asked_for(self, three: ChunkIndex, words: list[str]) -> None:
        found = three.top(unit(), [words, words], 3)
        assert 3 <= len(found.numbers) <= 9
        assert np.isfinite(found.lexical).all()

    def test_any_text_can_be_added(self, index: ChunkIndex) -> None:
        texts = ["", "\x00\x01", "\ud800 half a pair", "word " * 40_000, "漢字。" * 500, "x" * 100_000]
        index.add([batch(1, 1, texts)])
        index.commit(1)
        assert index.numbers().tolist() == [1, 2, 3, 4, 5, 6]
        assert lexical(index.top(unit(), [["pair"]], 9)) == [3]

    def test_more_than_there_is_can_be_asked_for(self, three: ChunkIndex) -> None:
        assert len(three.top(unit(), [["measured"]], 1000).numbers) == 12

    def test_numbers_may_have_gaps_and_be_large(self, index: ChunkIndex) -> None:
        numbers = np.array([5, 70, 2**40], dtype=np.int64)
        index.add(
            [Batch(document=2**35, numbers=numbers, vectors=unit(3), contexts=[""] * 3, texts=["one", "two", "three"])]
        )
        index.commit(2**41)
        assert index.numbers().tolist() == numbers.tolist()
        assert lexical(index.top(unit(), [["three"]], 3, np.array([2**35]))) == [2**40]

    def test_searches_go_on_while_documents_come_and_go(self, three: ChunkIndex) -> None:
        stop, wrong = threading.Event(), list[str]()

        def search() -> None:
            while not stop.is_set():
                found = lexical(three.top(unit(), [["glacier"]], 50))
                if not {1, 2, 3, 4} <= set(found):
                    wrong.append(f"found only {found}")

        threads = [threading.Thread(target=search) for _ in range(3)]
        for thread in threads:
            thread.start()
        try:
            for turn in range(10):
                three.add([batch(10 + turn, 100 + 10 * turn, ["a runway"] * 10)])
                three.commit(10 + 2 * turn)
                three.delete([10 + turn])
                three.commit(11 + 2 * turn)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not wrong
        assert three.size == 12

    def test_closed_twice(self, contents: Contents) -> None:
        made = self.make(contents)
        made.close()
        made.close()

    def _again(self, index: ChunkIndex, contents: Contents) -> ChunkIndex:
        index_again = self.make(contents)
        self.opened.append(index_again)
        for generation, added, deleted in self.changes:
            if generation > index_again.generation:
                self._apply(index_again, generation, added, deleted)
        return index_again

    @pytest.fixture(autouse=True)
    def _close_what_was_opened(self) -> Iterator[None]:
        self.opened: list[ChunkIndex] = []
        self.changes: list[tuple[int, Sequence[Batch], Sequence[int]]] = []
        yield
        for index in self.opened:
            index.close()
