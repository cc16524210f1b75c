"""What people put on a PDF's page: filled fields with their labels, ticks, typed notes and comments."""

from crag.core.config import AppConfig
from crag.ingest.chunking import chunk_document
from crag.ingest.reader import read_document
from tests.support.reported import REPORTS, kind

CONFIG = AppConfig()
FORM = (REPORTS / "form.pdf").read_bytes()


def text_of(data: bytes) -> str:
    return "\n".join(page.text for page in read_document(data, "a.pdf", CONFIG).pages)


def test_the_values_of_a_form_stand_beside_their_labels() -> None:
    lines = text_of(FORM).splitlines()
    assert "Name of the vessel: Seagull II" in lines and "Berth wanted: C 27" in lines
    assert "Owner: Marit Eide" in lines and "Length in metres: 11.4" in lines
    assert "Insurance [x] yes [ ] no" in lines


def test_lists_buttons_and_boxes_say_what_was_chosen() -> None:
    lines = text_of(kind("berth.pdf")).splitlines()
    assert "Name of the boat: Morgenstern" in lines
    assert "Basin: Outer basin" in lines  # what the list shows, not its value "b"
    assert "Drive: [x] Sails [ ] Engine" in lines
    assert "Wanted: [x] Crane [ ] Trailer [x] Dinghy rack" in lines  # the last one has no look of its own


def test_a_field_without_a_printed_label_is_named_by_the_form() -> None:
    text = text_of(kind("berth.pdf"))
    assert "Remarks: Needs shore power.\nArrives late." in text


def test_scripts_passwords_and_hidden_fields_show_nothing() -> None:
    text = text_of(kind("berth.pdf"))
    assert not any(word in text for word in ("Hacked", "hunter2", "nobody sees me"))


def test_a_value_is_marked_where_it_stands() -> None:
    [chunk] = chunk_document(read_document(kind("berth.pdf"), "a.pdf", CONFIG), "id", "a.pdf")
    at = chunk.text.index("Morgenstern")
    [rect] = chunk.rects(at, at + len("Morgenstern"))
    assert 200 <= rect.left < rect.right <= 400 and 792 - 714 <= rect.top < rect.bottom <= 792 - 698


def test_notes_and_comments_are_marked_as_such() -> None:
    text = text_of(kind("notes.pdf"))
    assert text.startswith("The quay is open every day.")
    assert "Note by Ines: The quay is closed on Mondays." in text
    assert text.count("Comment by Olaf: Ask the diver, he knows the depth: 6 m.") == 1
    assert "Comment: Out of date." in text
    assert "secret order" not in text and "a link" not in text


def test_a_page_of_notes_alone_is_not_blank() -> None:
    assert "Note by Ines: The quay is closed on Mondays." in text_of(kind("notes_alone.pdf"))
