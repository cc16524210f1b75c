"""Whether a text says the opposite of a word of the question. Pure."""

from __future__ import annotations

from crag.generation.subjects import MAX_QUESTION
from crag.text.words import words

_OPPOSITES = {
    word: other
    for one, another in (
        ("minimum", "maximum"),
        ("lowest", "highest"),
        ("smallest", "largest"),
        ("shortest", "longest"),
        ("oldest", "youngest"),
    )
    for word, other in ((one, another), (another, one))
}
_NEGATIONS = ("un", "in", "im", "non", "dis")
_LEAST_STEM = 5
"""Letters of a word behind such a prefix: "income" is no opposite of "come"."""


def says_opposite(question: str, text: str) -> bool:
    """Whether a text has the opposite of a word of the question and not the word: "restricted" for "unrestricted"."""
    asked, said = set(words(question[:MAX_QUESTION])), set(words(text))
    pairs = [(word, _OPPOSITES.get(word)) for word in asked]
    pairs += [(one, other) for one in asked for other in _without_prefix(one)]
    pairs += [(other, one) for one in said for other in _without_prefix(one) if other in asked]
    return any(other in said and word not in said for word, other in pairs)


def _without_prefix(word: str) -> list[str]:
    bare = (word.removeprefix(prefix) for prefix in _NEGATIONS if word.startswith(prefix))
    return [each for each in bare if len(each) >= _LEAST_STEM]
