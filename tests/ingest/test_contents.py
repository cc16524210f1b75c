"""Pages of contents: known by where their entries lead, whatever they are called, and told from lists of figures."""

from crag.core.ingesting import Page, ParsedDocument
from crag.ingest.chunking import chunk_document
from crag.ingest.contents import find_contents

CHAPTERS = ("Sopa de miso", "Curry", "Lentejas de mamá", "Ragù")
DOTTED = "\n".join(f"0.{at + 1} {chapter} . . . . {at + 3}" for at, chapter in enumerate(CHAPTERS))


def book(entries: str) -> tuple[Page, ...]:
    texts = ("Recetas", entries, *(f"{chapter}\nMezclar y servir." for chapter in CHAPTERS))
    return tuple(Page(number=number, text=text, width=0, height=0) for number, text in enumerate(texts, 1))


def test_entries_that_lead_to_their_pages_are_contents() -> None:
    cells = "\n".join(f"{chapter}: Página {at + 3}" for at, chapter in enumerate(CHAPTERS))
    printed = "\n".join(f"{chapter}; ii {at + 1}" for at, chapter in enumerate(CHAPTERS))
    columns = "Ragù . . . . . 6 Curry . . . .4\nSopa de miso . . . 3 Lentejas de mamá. . . . . 5"
    some = DOTTED.replace(" . . . . 6", ": 6").replace("0.1 ", "Platos: 3\n0.1 ")
    for entries in (DOTTED, some, cells, columns, f"Índice\n{printed}\n3"):
        assert find_contents(book(entries)) == {2}
        chunks = chunk_document(ParsedDocument(title="Recetas", pages=book(entries)), "d", "recetas.pdf")
        assert [chunk.page for chunk in chunks] == [1, 3, 4, 5, 6]


def test_lists_whose_figures_lead_nowhere_stay() -> None:
    prices = "\n".join(f"{chapter}: {at + 7}" for at, chapter in enumerate(reversed(CHAPTERS)))
    falling = "\n".join(f"{chapter} {5 - at}" for at, chapter in enumerate(CHAPTERS))
    said = "Todo lo que hace falta para cocinar en casa se explica en este libro, paso a paso. " * 4
    mixed = f"{DOTTED}\n{said}", f"{said}\n{DOTTED}", "A . . . 1\n. . . 2\n. . . 3\n. . . 4"
    for text in (prices, falling, "Curry serves 4\nRagù serves 6", "", "12\n13\n14", *mixed):
        assert find_contents(book(text)) == frozenset()
