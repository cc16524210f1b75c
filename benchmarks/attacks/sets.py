"""Question sets made to take all memory or hours, of at most 10 MB: seconds, and the most memory that was held.

The figures hold the file itself and what the program takes when it starts, about 20 MB. Each process may take 6 GB.
"""

from __future__ import annotations

import json
import resource
import time

from benchmarks.attacks.figure import Figure, main, peak_mb

MOST = 6 * 1024**3
SIZE = 10_000_000


def read(what: str, data: bytes) -> Figure:
    """Read a set, and say what came of it."""
    from crag.analysis.questions.sets import read_set
    from crag.core.errors import InputError

    resource.setrlimit(resource.RLIMIT_AS, (MOST, MOST))
    began = time.perf_counter()
    try:
        found = read_set("set", data)
        ended = "read" if found.questions else "no row is good"
    except InputError:
        ended = "refused"
    except MemoryError:
        ended = "MemoryError"
    return Figure(
        finding=3, what=what, value=f"{ended}, {time.perf_counter() - began:.1f} s, {peak_mb():,.0f} MB at the most"
    )


def asked(**more: object) -> bytes:
    return json.dumps({"question": "Who?", **more}).encode()


def nothing() -> Figure:
    return read("a set of one question, to compare with", asked())


def pages_100_kb() -> Figure:
    return read("pages `1-1000;1-1000;…`, 100 KB", asked(page="1-1000;" * (100_000 // 7)))


def pages_1500_kb() -> Figure:
    return read("pages `1-1000;1-1000;…`, 1.5 MB", asked(page="1-1000;" * (1_500_000 // 7)))


def pages_of_each_row() -> Figure:
    return read("pages `1-999` in each of 99,000 rows, 0.9 MB", b"question,page\n" + b"A?,1-999\n" * 99_000)


def commas() -> Figure:
    return read("10 MB of commas", b"," * SIZE)


def newlines() -> Figure:
    return read("10 MB of line ends below a header", b"question\n" + b"\n" * SIZE)


def blank_rows() -> Figure:
    return read("10 MB of rows `,,,`", b"question,a,b,c\nWho?\n" + b",,,\n" * (SIZE // 4))


def bars() -> Figure:
    return read("an answer of 10 MB of bars", b"question,answer\nWho?," + b"|" * SIZE)


def many_answers() -> Figure:
    row = b"A?," + b"|".join(b"%03x" % number for number in range(1000)) + b"\n"
    return read("1,000 answers in each of 2,500 rows, 10 MB", b"question,answer\n" + row * (SIZE // len(row)))


def json_objects() -> Figure:
    return read("JSON of 3.3 million `{}`, 10 MB", b"[" + b"{}," * (SIZE // 3) + b"{}]")


def json_lists() -> Figure:
    return read("JSON of 3.3 million `[]`, 10 MB", b"[" + b"[]," * (SIZE // 3) + b"[]]")


def json_in_a_cell() -> Figure:
    return read("JSON of 1.7 million `{}` in an answer, 5 MB", asked(answer="[" + "{}," * (SIZE // 6) + "{}]"))


def json_columns() -> Figure:
    document = bytearray(b'[{"question":"Who?"')
    for number in range(SIZE // 12):
        document += b',"%07x":1' % number
    return read("a JSON object of 0.8 million keys, 10 MB", bytes(document + b"}]"))


def quotes() -> Figure:
    return read("rows that leave a quote open to the end, 200 KB", b"question,answer\n" + b'",x","\n' * (200_000 // 7))


def bad_bytes() -> Figure:
    return read("bytes that are no UTF-8, every other one, 10 MB", b"question\nWho?\n" + b"\xffa" * (SIZE // 2))


def columns_by_name() -> Figure:
    rows = b"\n".join(b'{"question":"Who?","%s%d":1}' % (b"x" * 60_000, number) for number in range(150))
    return read("150 keys of 60 KB, 9 MB", rows)


def honest() -> Figure:
    rows = b"".join(b'row-%d,"Question %d, is it?",Answer %d|Other,file.pdf,%d\n' % (n, n, n, n) for n in range(50_000))
    return read("an honest table of 50,000 rows, to compare with", b"id,question,answer,source,page\n" + rows)


if __name__ == "__main__":
    main(
        [
            nothing,
            honest,
            pages_100_kb,
            pages_1500_kb,
            pages_of_each_row,
            commas,
            newlines,
            blank_rows,
            bars,
            many_answers,
            json_objects,
            json_lists,
            json_in_a_cell,
            json_columns,
            quotes,
            bad_bytes,
            columns_by_name,
        ]
    )
