"""How a question and a passage become the input of the shipped cross-encoder: token ids, and what each token is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["KINDS", "MAX_PAIR", "content_tokens", "cut_question", "paired"]

HEAD, TAIL = 96, 32
"""Question tokens that are read of a longer question: what is asked stands at one of its ends."""
MAX_PAIR = 320
"""Tokens of one input, the three special ones included."""
KINDS = ("question", "question, also in the passage", "passage", "passage, also in the question")
"""What a token can be; each kind has a learned vector that is added to the token's own."""

STOP = frozenset(
    """a an and are as at be been being but by can could did do does doing for from had has have he her hers him his how
    i if in into is it its itself just me my of on or our ours s she should so than that the their theirs them then
    there these they this those to too under until up very was we were what when where which while who whom whose why
    will with would you your yours about after before between during over t not no also any each some such many much
    one other more most""".split()
)


def content_tokens(vocabulary: Mapping[str, int]) -> frozenset[int]:
    """The ids whose meeting in question and passage says something: no stop words, punctuation or single letters."""
    return frozenset(
        number
        for token, number in vocabulary.items()
        if (token.isalnum() and token not in STOP and (len(token) > 1 or token.isdigit()))
        or (token.startswith("##") and token[2:].isalnum() and (len(token) > 3 or token[2:].isdigit()))
    )


def cut_question(ids: Sequence[int]) -> list[int]:
    """The tokens of a question that are read."""
    return list(ids) if len(ids) <= HEAD + TAIL else [*ids[:HEAD], *ids[-TAIL:]]


def paired(
    question: Sequence[int], passage: Sequence[int], content: frozenset[int], cls: int, sep: int
) -> tuple[list[int], list[int]]:
    """`[CLS] question [SEP] passage [SEP]` as ids, the passage cut to what fits, and the index into KINDS of each."""
    asked = list(question)
    read = list(passage[: MAX_PAIR - 3 - len(asked)])
    met = content.intersection(asked).intersection(read)
    ids = [cls, *asked, sep, *read, sep]
    kinds = [0, *(int(token in met) for token in asked), 0, *(2 + int(token in met) for token in read), 2]
    return ids, kinds
