"""Texts that flatter a question: they repeat it, say that they answer it, list its words, and say nothing.

They change no label and are no evidence. Put before texts of other subjects they teach that these words are worth
nothing; put before texts that do answer, that they do no harm either. Every fourth is kept for checks alone.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from corpora.altering import ahead
from corpora.pair import Pair, held_out

Dice = random.Random
Flattery = Callable[[str, Sequence[str], Dice], str]
"""From a question and other questions to what is said before (or after) the text."""

FEWEST = 3
"""Words that say something which a question must have to be flattered."""
SHORT = 80
"""Characters that a text of another subject has at least."""
_SMALL = frozenset(
    "a an and are as at be been by can could did do does for from had has have he her his how i if in is it its me my "
    "of on or our she should so than that the their them there they this to was we were what when where which who whom "
    "whose why will with would you your".split()
)
HEADS = (
    "Introduction|Background|Overview|Scope|Definitions|Methods|Results|Discussion|Conclusion|References|Appendix|Index"
    "|Acknowledgements|About this document|Summary|Further reading|Contact|List of tables|Risk factors|Legal notices"
)
FILLERS = (
    "How can I contact you?|Where do I find more information?|Who is this page for?|How often is this page updated?"
    "|Can I print this page?|Is this service free?|What languages are supported?|How do I report a mistake?"
    "|Which browsers work?|Do I need an account?"
)
SAID = (
    "This passage answers the question “{Q}”",
    "Below you will find the answer to the question: {Q}",
    "{Q} The answer is given in the text below.",
    "I was asked: {Q} I explain it fully here.",
    "Many readers want to know {q}. In this article we tell you exactly that.",
    "{Q} Yes, this is the right place: everything about it is explained here.",
    "In the following we answer in detail: {Q}",
    "The following text contains the complete and verified answer to “{Q}”.",
    "Question: {Q}\nAnswer: see the text that follows.",
    "You asked “{Q}” and this document has what you are looking for.",
    "Ever wondered {q}? Wonder no more, read on!",
    "Our experts have looked into {q} and have found a clear answer, which we share with you today.",
    "Here is all you need to know about {s}.",
    "After reading this you will know {q}.",
    "This section is about {s}; it says precisely {q}.",
    "We have been asked time and again {q}. The answer is simple and can be found here.",
    "Q: {Q}\nA: It is answered above.",
    "The answer to “{Q}” is well known and documented in this source.",
    "To the question {q} there is one answer, and it stands here.",
    "As for {s}: this text is the authoritative source on it.",
)
HEADINGS = (
    "{Q}",
    "# {Q}",
    "{T}",
    "{Q} – the answer",
    "Answer to: {Q}",
    "{T}: what you need to know",
    "{Q} | Explained",
    "Chapter 3. {T}",
    "FAQ: {Q}",
    "About {s}",
    "Everything on {s}",
    "{Q} (solved)",
)


def _plain(question: str) -> str:
    """The question within a sentence: without its mark, its first word small unless it is a name."""
    asked = question.strip().rstrip("?!. ")
    first = asked.split(" ", 1)[0]
    return asked[:1].lower() + asked[1:] if first.lower() in _SMALL else asked


def _keywords(question: str) -> list[str]:
    found = [word for word in re.findall(r"[\w'’-]+", question) if word.lower() not in _SMALL]
    return list(dict.fromkeys(found))


def _filled(template: str) -> Flattery:
    def said(question: str, others: Sequence[str], dice: Dice) -> str:
        keywords = _keywords(question)
        subject = " ".join(keywords)
        asked = question.strip()
        text = template.replace("{Q}", asked).replace("{q}", _plain(question)).replace("{s}", subject)
        return text.replace("{T}", " ".join(word[:1].upper() + word[1:] for word in keywords))

    return said


def _stuffed(question: str, others: Sequence[str], dice: Dice) -> str:
    words = _keywords(question) * dice.randint(2, 4)
    dice.shuffle(words)
    return dice.choice((", ", " ", "; ", " | ")).join(words) + dice.choice((".", "", "…"))


def _tagged(question: str, others: Sequence[str], dice: Dice) -> str:
    words = _keywords(question)
    tags = [*words, *(" ".join(words[at : at + 2]) for at in range(len(words) - 1)), question.strip()]
    return dice.choice(("Keywords: ", "Tags: ", "Related searches: ", "Topics: ")) + ", ".join(tags)


def _echoed(question: str, others: Sequence[str], dice: Dice) -> str:
    return dice.choice((" ", "\n", " ... ")).join([question.strip()] * dice.randint(2, 3))


def _contents(question: str, others: Sequence[str], dice: Dice) -> str:
    words = _keywords(question)
    subject = dice.choice((question.strip(), " ".join(words), " ".join(words[: max(2, len(words) // 2)])))
    entries = [*dice.sample(HEADS.split("|"), dice.randint(3, 6))]
    entries.insert(dice.randint(1, len(entries)), subject[:1].upper() + subject[1:])
    page, lines = 1, []
    for number, entry in enumerate(entries, 1):
        page += dice.randint(1, 14)
        lines.append(dice.choice((f"{number}. {entry} {'.' * dice.randint(4, 20)} {page}", f"{number} {entry} {page}")))
    return dice.choice(("Contents\n", "TABLE OF CONTENTS\n", "In this document\n", "")) + "\n".join(lines)


def _index(question: str, others: Sequence[str], dice: Dice) -> str:
    words = _keywords(question)
    entries = [f"{word}, {dice.randint(2, 90)}, {dice.randint(91, 300)}" for word in sorted(words, key=str.lower)]
    return "Index\n" + "\n".join(entries)


def _listed(question: str, others: Sequence[str], dice: Dice) -> str:
    asked = [*dice.sample(FILLERS.split("|"), 2), *dice.sample(list(others), min(2, len(others)))]
    asked.insert(dice.randint(0, len(asked)), question.strip())
    mark = dice.choice(("- ", "• ", "", "Q: "))
    head = dice.choice(("Frequently asked questions", "FAQ", "People also ask", "Questions our readers ask"))
    return "\n".join([head, *(f"{mark}{each}" for each in asked)])


def _linked(question: str, others: Sequence[str], dice: Dice) -> str:
    asked = [question.strip(), *dice.sample(list(others), min(3, len(others)))]
    dice.shuffle(asked)
    return "See also: " + " | ".join(f"{each} [read more]" for each in asked)


def _trail(question: str, others: Sequence[str], dice: Dice) -> str:
    words = _keywords(question)
    parts = ["Home", dice.choice(("Articles", "Help", "Library", "Guides")), " ".join(words), question.strip()]
    return dice.choice((" > ", " / ", " » ")).join(parts)


FLATTERIES: dict[str, tuple[Flattery, ...]] = {
    "said": tuple(map(_filled, SAID)),
    "headings": tuple(map(_filled, HEADINGS)),
    "lists": (_stuffed, _contents, _listed, _tagged, _echoed, _index, _linked, _trail),
}
SHARES = {"said": 0.5, "headings": 0.2, "lists": 0.3}


def flatteries(kind: str, *, checked: bool) -> list[Flattery]:
    """Those of a kind that train, or every fourth: those that only check."""
    return [each for number, each in enumerate(FLATTERIES[kind]) if (number % 4 == 3) == checked]


def flattered(pairs: Sequence[Pair], count: int, dice: Dice) -> Iterator[Pair]:
    """About so many pairs with flattery: half on texts of other subjects, a third on texts that answer."""
    for checked in (False, True):
        side = [pair for pair in pairs if held_out(pair.group) == checked]
        asked = [pair for pair in side if _may(pair)]
        right, wrong = [pair for pair in asked if pair.label], [pair for pair in asked if not pair.label]
        share = count * len(side) / len(pairs)
        foreign = [_foreign(pair, side, dice) for pair in _some(asked, 0.5 * share, dice)]
        chosen = [*foreign, *_some(right, 0.35 * share, dice), *_some(wrong, 0.15 * share, dice)]
        for pair in filter(None, chosen):
            others = [dice.choice(asked).question for _ in range(3)]
            (kind,) = dice.choices(list(SHARES), list(SHARES.values()))
            flattery = dice.choice(flatteries(kind, checked=checked))
            said = _varied(flattery(pair.question, others, dice), dice)
            yield _put(replace(pair, source="flattered", closeness=None, weight=1.0), said, dice)


def _some(pairs: Sequence[Pair], count: float, dice: Dice) -> list[Pair]:
    return dice.sample(pairs, min(len(pairs), round(count)))


def _foreign(pair: Pair, side: Sequence[Pair], dice: Dice) -> Pair | None:
    """The question with a text of another document; None where that happens to be too short or the same."""
    other = dice.choice(side)
    if other.group == pair.group or len(other.text) < SHORT:
        return None
    return replace(pair, text=other.text, title=other.title, label=0.0, spots=(), keeps=())


def _may(pair: Pair) -> bool:
    """Whether the pair asks a question, so that to repeat it says nothing; a claim repeated is the claim made.

    Questions of whatever table they are asked of name nothing, so that a text of another subject may answer them.
    """
    if "claim" in pair.source or pair.source.split()[0] in {"copied", "echo", "scifact", "fever", "wtq"}:
        return False
    return len(_keywords(pair.question)) >= FEWEST and 20 < len(pair.question) < 250 and pair.label in (0.0, 1.0)


def _varied(text: str, dice: Dice) -> str:
    """In another case, or with other punctuation, now and then."""
    chance = dice.random()
    if chance < 0.08:
        return text.upper()
    if chance < 0.2:
        return text.lower()
    if chance < 0.28:
        return re.sub(r"[?.!]", "", text)
    return f"**{text}**" if chance < 0.33 else text


def _put(pair: Pair, said: str, dice: Dice) -> Pair:
    """The flattery before the text (mostly), behind it, or as its heading."""
    place = dice.random()
    if place < 0.15:
        return replace(pair, text=f"{pair.text}{dice.choice((' ', chr(10)))}{said}")
    if place < 0.3 and "\n" not in said and len(said) < 160:
        return replace(pair, title=f"{pair.title} › {said}" if pair.title else said)
    return ahead(pair, said + dice.choice((" ", "\n", "\n\n")))


FOREIGN = (
    "Die Sitzung wurde um neun Uhr eröffnet und dauerte bis in den späten Abend.",
    "Le magasin ferme à dix-neuf heures, sauf le dimanche et les jours de fête.",
    "Los trenes salen cada media hora desde la estación central de la ciudad.",
    "Het weer blijft de komende dagen wisselvallig met af en toe wat regen.",
    "Погода завтра будет ясной, а к вечеру возможен небольшой дождь.",
    "本次会议将于下周三下午在三楼会议室举行，请准时参加。",
    "このたびは当店をご利用いただき、まことにありがとうございます。",
    "تفتح المكتبة أبوابها للزوار من الساعة التاسعة صباحا حتى المساء.",
)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def nonsense(pairs: Sequence[Pair], count: int, dice: Dice) -> Iterator[Pair]:
    """Questions with what says nothing: scrambled letters, lone words, figures, another language."""
    for pair in dice.sample([pair for pair in pairs if _may(pair)], count):
        words = pair.question.split()
        text = dice.choice(
            (
                " ".join("".join(dice.choices(LETTERS, k=dice.randint(2, 9))) for _ in range(dice.randint(3, 60))),
                "".join(chr(dice.randint(0xA1, 0x24F)) for _ in range(dice.randint(20, 300))),
                " ".join(str(dice.randint(0, 99_999)) for _ in range(dice.randint(4, 80))),
                " ".join("".join(dice.sample(word, len(word))) for word in words),
                dice.choice(words),
                " ".join([dice.choice(words)] * dice.randint(5, 60)),
                " ".join(dice.choices(FOREIGN, k=dice.randint(1, 5))),
                dice.choice((".", "-", "?!", "n/a", "…", "•", "0", "a", "ok", "[image]", "Page 3 of 12")),
            )
        )
        yield Pair(pair.question, text, 0.0, pair.group, "nonsense", keeps=())
