"""Where sentences begin and end: one splitter for chunks, strips and checks, so that their edges agree."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

_ENDS_LIKE_PROSE = re.compile(r"[.!?;:,]\s*$")
_TWO_SENTENCES = re.compile(r"[.!?]\s+[A-Z\d]")
_ENDS_IN_A_FIGURE = re.compile(r"[\d%)—–-]\W*$")


def is_table_row(line: str) -> bool:
    """Whether a line is a table's row: three parts or more, apart by semicolons, and no running text.

    Where a stop stands inside it, as in "Oper. Income $627", at least half of its parts must end in a figure.
    """
    if line.count("; ") < 2 or _ENDS_LIKE_PROSE.search(line, max(0, len(line) - 8)):
        return False
    if not _TWO_SENTENCES.search(line):
        return True
    parts = line.split("; ")
    return 2 * sum(_ENDS_IN_A_FIGURE.search(part, max(0, len(part) - 8)) is not None for part in parts) >= len(parts)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# After these a full stop ends no sentence, whatever follows.
_NEVER = _words(
    "e.g i.e cf v vs viz al approx ca mr mrs ms dr prof rev hon gen gov sen rep capt lt col maj brig adm cmdr sgt cpl "
    "supt pres st mt ft fig figs eq eqs sec secs ref refs ed eds vol vols ch chap pp art para nos no op tab app ex "
    "resp incl excl dept univ messrs gr rs"
)
# These may end a sentence: they do where the next word is one that opens sentences.
_MAYBE = _words(
    "inc corp co ltd llc plc cos bros assn intl etc jr sr esq u.s u.k u.n e.u u.s.a d.c n.y n.a n.v s.a l.p "
    "a.m p.m ph.d m.d b.a m.a jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri sat sun "
    "est max min avg hr hrs yr yrs ave blvd rd "
    "oper rev amort depr accum admin mfg mgmt qtr pct inv liab mgr misc svc svcs recv equip "
    "ala ariz calif colo conn fla kan ky mich minn neb nev okla tenn vt wis wyo"
)
# As `_MAYBE`, where they begin with a capital: in citations of courts and statutes, where no word does.
_MAYBE_CAPITAL = _words(
    "ark cal del ga ill ind mo md pa tex va wash app cert cir civ cl crim ct dist div dkt doc docs evid fed ins supp"
)
# "No." and its like before a number is an abbreviation; elsewhere it is a short sentence.
_BEFORE_NUMBER = _words("no nos art fig figs eq sec vol ch pp tab ex app p")
_BEFORE_INITIALS = _BEFORE_NUMBER | _MAYBE_CAPITAL
_OPENERS = _words(
    "the a an this that these those it its he she they we i you our their his her my your there here in on at for "
    "from with by as if when while where after before since because although though however moreover furthermore "
    "therefore thus such some many most each all both no not one two what who why how under during additionally "
    "accordingly refer based see"
)

# "c. 1890", "b. 1920": before a number these are short for about, born, died, page.
_BEFORE_YEAR = frozenset("bcdp")
# A line that ends with one of these goes on in the next, whatever that begins with.
_LEADS_ON = _words(
    "the a an of and or at in for to by from on with into near between under over per via than that which whose as "
    "its his her their our mr mrs ms dr prof gen gov sen rep capt lt st mt no nos fig sec vol "
    "until since against upon during toward towards throughout onto if because although unless whether nor been is are "
    "was were has have had will shall must would could should these those every each re"
)

SURE_STOPS = "。｡！？؟۔।॥։။។።፧"
"""Stops of other scripts, which end a sentence whatever follows: of East Asia, Arabic, Urdu, Hindi, Armenian, Burmese,
Khmer and Ethiopia."""
STOPS = f".!?…{SURE_STOPS}"
_THAI = "[\u0e01-\u0e4e\u0e81-\u0ece]"
_THAI_LEAST = 150
"""Thai and Lao write no stops but a blank between sentences, and between clauses: letters after which one counts."""

# A run of terminators with closing quotes or brackets, then white space or the end; sure stops need no space.
# From the first stop of a run on, and never back: a run that ends nothing is looked at once.
_STOP = re.compile(
    rf"""(?<![.!?…])[.!?…]++["'”’»)\]]*+(?=\s|$)|[{SURE_STOPS}][{STOPS}]*+["'”’»」』）]*+|\n"""
    rf"|(?<={_THAI})[ ]++(?={_THAI})"
)
_WORD_BEFORE = re.compile(r"[\w&][\w.&'’-]*$")
_NEXT = re.compile(r"""\s*["'“‘«(\[]*\s*([^\s]+)""")
_LETTER = re.compile(r"[^\W\d_]\.")
_MONTH_AND_YEAR = re.compile(r"\s[^\W\d_]{3,12}\s(?:1\d|20)\d\d\b")
_ORDINAL = re.compile(
    r"(?<!\w)(?<!I )(?:[Dd](?:er|ie|as|em|en|es)|[AIai]m|[Vv]om|[Zz]u[mr]|[Aa]b|[Bb]is|[Ss]eit) \d{1,2}$"
)
_INITIALS = re.compile(r"(?:[A-Z]\.){2}")
_MARKER = re.compile(r"^[\s•‣◦▪●○·*–—-]*\(?(?:\d{1,3}(?:\.\d{1,3}){0,4}|[A-Za-z]|[ivxlcIVXLC]{1,5})$")
_BULLET = re.compile(r"\s*(?:[•‣◦▪●○·*–—-]\s|\(?\w{1,3}[.)]\s|#+\s|\|)")
ITEM = re.compile(r"(?:[•●▪◦‣○·*–—-]|\(?(?:\d{1,2}|[a-z]|[ivx]{2,4})[.)])(?=\s|$)")
"""What stands before an item of a list: a bullet, "1.", "(a)" or "iv)"."""
_ENDED = re.compile(rf"[{STOPS}][\"'”’»)\]」』）]*\s*$")
_LAST_WORD = re.compile(r"(?:^|\s)[(\[\"“]?([A-Za-z]+)\.?$|(,)$")
_COUNTED = re.compile(r"[^\s(]\s*\(\w{1,5}\)\s")
_NEXT_COUNTED = re.compile(r"\(\w{1,5}\)\s")
_QUOTE = re.compile(r"[\"“”«»]")
_FAR = 48
_LONGEST_QUOTE = 240
"""Characters of a quotation that is one sentence with what it stands in, however many stops are in it."""


def sentences(text: str) -> list[tuple[int, int]]:
    """The sentences of `text` as [start, end) offsets: in order, apart, without outer white space.

    Every character that is no white space lies in exactly one of them. A line break ends a sentence unless the
    next line goes on in lower case; table rows, headings and list items are therefore sentences of their own.
    """
    found: list[tuple[int, int]] = []
    begin = 0
    quotes = [mark.start() for mark in _QUOTE.finditer(text)]
    line_end, in_row = -1, False
    for match in _STOP.finditer(text):
        if match.start() > line_end:
            line_start, line_end = _line_at(text, match.start())
            in_row = is_table_row(text[line_start:line_end])
        if in_row and match.end() < line_end:
            continue
        if not _ends(text, begin, match) or _in_quotation(text, quotes, begin, match):
            continue
        _keep(found, text, begin, match.end())
        begin = match.end()
    _keep(found, text, begin, len(text))
    return found


def _line_at(text: str, place: int) -> tuple[int, int]:
    """The [start, end) of the line around `place`, without its line break."""
    end = text.find("\n", place)
    return text.rfind("\n", 0, place) + 1, len(text) if end < 0 else end


def ends_as_sentence(text: str) -> bool:
    """Whether a text ends as a sentence does: with a stop, and maybe quotes or brackets behind it."""
    return _ENDED.search(text) is not None


def _keep(found: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    """Add the span without its outer white space, unless nothing is left."""
    while begin < end and text[begin].isspace():
        begin += 1
    while end > begin and text[end - 1].isspace():
        end -= 1
    if begin < end:
        found.append((begin, end))


def _ends(text: str, begin: int, match: re.Match[str]) -> bool:
    """Whether a sentence that began at `begin` ends with the stop that was matched."""
    stop = match.group()
    if stop == "\n":
        return _line_ends(text, begin, match.start())
    if stop[0] in SURE_STOPS:
        return True
    if stop[0] == " ":
        return match.start() - begin >= _THAI_LEAST
    following = _NEXT.match(text, match.end(), match.end() + _FAR)
    if following is None:
        return True
    word = following.group(1)
    if word[0] in ":;,":
        return False
    opens = not word[0].islower()
    if stop[0] in "!?…" or (len(stop) > 1 and stop[1] in ".!?"):
        return opens
    if not opens:
        # A bullet or a line break after the stop is read by its own rule; lower case goes on.
        return False
    return _full_stop_ends(text, begin, match.start(), word)


def _full_stop_ends(text: str, begin: int, at: int, following: str) -> bool:
    """Whether the full stop at `at`, before the word `following`, is more than an abbreviation's or a list mark's."""
    before = _WORD_BEFORE.search(text, max(begin, at - _FAR), at)
    if before is None:
        return True
    if at - begin < 12 and _MARKER.match(text[begin:at]):
        return False
    word = before.group().lower().strip("'’")
    if word in _BEFORE_YEAR and following[0].isdigit() and before.group().islower():
        return False
    if word == "no" and before.group()[0].isupper() and at - begin > len("No") and _is_code(following):
        return False
    if word in _BEFORE_INITIALS and _INITIALS.match(following):
        return False
    if word in _BEFORE_NUMBER:
        return not (following[0].isdigit() or (following[0].isupper() and word not in ("no", "art", "app", "ex")))
    if word in _NEVER or _NEVER.issuperset(word.split(".")):
        return False
    # A single letter is an initial, unless it ends "vitamin C." before a sentence opener, or part of "z. B.".
    if len(word) == 1 and word.isalpha():
        return (before.group().islower() and not _LETTER.fullmatch(following)) or _opener(following)
    counts = len(word) < 3 and word.isdigit()
    if counts and (_MONTH_AND_YEAR.match(text, at + 1) or _ORDINAL.search(text, max(begin, at - _FAR), at)):
        return False  # the day of a date, "28. Mai 2012", and what German counts: "am 5. Juli", "der 2. Vorsitzende"
    if word in _MAYBE_CAPITAL and before.group()[0].isupper():
        return _opener(following)
    if word in _MAYBE or re.fullmatch(r"(?:[a-z]\.)+[a-z]", word):
        return _opener(following)
    return True


def _is_code(word: str) -> bool:
    """Whether it reads as a number of a case or a part: "MDL", "ED108783"."""
    return word.isupper() and len(word.strip(",.;:")) > 1


def _opener(word: str) -> bool:
    return word[0].isupper() and word.strip("\"'“”‘’().,;:[]").lower() in _OPENERS


def _line_ends(text: str, begin: int, at: int) -> bool:
    """Whether the line break at `at` ends a sentence: yes, unless lower case goes on right behind it.

    Nor where the line ends with a comma or a word that no sentence ends with: "at the" and "Wausau Airport" is one,
    and "(i) the sick, and" with "(ii) the rowdy".
    """
    after = at + 1
    if after >= len(text):
        return True
    following = text[after : after + 1]
    if following.islower():
        return bool(_BULLET.match(text, after))
    last = _LAST_WORD.search(text, max(begin, at - _FAR), at)
    if last is None or not (last[2] or last[1].islower() or last[0].endswith(".")):
        return True
    leads_on = last[2] or last[1].lower() in _LEADS_ON
    if leads_on and _NEXT_COUNTED.match(text, after):
        # What is counted within a sentence, "(i) the sick, and", goes on: items with lines of their own do not.
        return _COUNTED.search(text, begin, at) is None
    return not leads_on or not following.isalnum() or bool(_BULLET.match(text, after))


def _in_quotation(text: str, quotes: Sequence[int], begin: int, match: re.Match[str]) -> bool:
    """Whether the stop that was matched, no line break, stands inside a quotation that ends soon behind it.

    `quotes`: where all quotation marks stand.
    """
    after = bisect_left(quotes, match.end())
    before = bisect_left(quotes, max(begin, match.start() - _LONGEST_QUOTE), 0, after)
    if before == after or match.group() == "\n" or not _opens(text, quotes[after - 1]):
        return False
    within = after < len(quotes) and quotes[after] < quotes[after - 1] + _LONGEST_QUOTE
    return within and not _opens(text, quotes[after])


def _opens(text: str, at: int) -> bool:
    """Whether the quotation mark at `at` begins a quotation: nothing but a blank or a bracket is right before it."""
    if text[at] in "“«”»":
        return text[at] in "“«"
    return (at == 0 or text[at - 1] in " \t\n([—–-/") and text[at + 1 : at + 2].strip() != ""
