"""What everything that reads short answers must do. A test class inherits this and gives `make`."""

from __future__ import annotations

import pytest

from crag.core.protocols import AnswerReader

QUESTION = "When was the Eiffel Tower completed?"
TEXT = "The tower stands in Paris. The Eiffel Tower was completed in March 1889 for the World's Fair."
OTHER = "Many museums are free on Sundays, and some of them are open until late in the evening."


class AnswerReaderContract:
    """Inherit and implement `make`."""

    def make(self) -> AnswerReader:
        raise NotImplementedError

    @pytest.fixture
    def reader(self) -> AnswerReader:
        return self.make()

    def test_the_words_that_answer_are_found_in_the_text(self, reader: AnswerReader) -> None:
        found = reader.read(QUESTION, TEXT)
        assert found is not None
        assert "1889" in TEXT[found.start : found.end]
        assert 0 <= found.confidence <= 1

    def test_a_text_that_answers_is_surer_than_one_that_does_not(self, reader: AnswerReader) -> None:
        found, other = reader.read(QUESTION, TEXT), reader.read(QUESTION, OTHER)
        assert found is not None
        assert other is None or other.confidence < found.confidence

    def test_reading_again_gives_the_same(self, reader: AnswerReader) -> None:
        assert reader.read(QUESTION, TEXT) == reader.read(QUESTION, TEXT) == self.make().read(QUESTION, TEXT)

    @pytest.mark.parametrize(
        "bad", ["", " \n ", "\x00\ud800\x07" * 50, "x" * 100_000, "word " * 4_000, "漢字。" * 500, "— * —"]
    )
    def test_a_bad_text_is_read_or_not_and_never_raises(self, reader: AnswerReader, bad: str) -> None:
        for question, text in ((QUESTION, bad), (bad, TEXT)):
            found = reader.read(question, text)
            if found is not None:
                assert 0 <= found.start < found.end <= len(text)
                assert any(letter.isalnum() for letter in text[found.start : found.end])
