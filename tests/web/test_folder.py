"""The folder that stands in for the web: what it finds, what it leaves out, and what it says about it."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from crag.core.errors import WebSearchError
from crag.core.protocols import WebSearch
from crag.testing.contracts import WebSearchContract
from crag.web import folder as folder_module
from crag.web.folder import FolderWeb

COMET = "The comet passed the sun in March. Its tail was seen for eleven nights from the southern coast."


def page(body: str, head: str = "<title>Sky notes</title>") -> str:
    return f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>"


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    folder = tmp_path / "pages"
    (folder / "sky" / "deep").mkdir(parents=True)
    (folder / "sky" / "comet.html").write_text(page(f"<article><h1>A comet</h1><p>{COMET}</p></article>"))
    (folder / "sky" / "deep" / "list.md").write_text(
        "# List of comets\n\n| comet | year |\n|---|---|\n| Biela | 1826 |\n"
    )
    (folder / "rain.txt").write_text("Rain in April\n\nIt rained on twenty days. No comet was seen.\n")
    (folder / "photo.jpg").write_bytes(b"\xff\xd8comet")
    return folder


@pytest.fixture
def web(pages: Path) -> Iterator[FolderWeb]:
    made = FolderWeb(pages)
    yield made
    made.close()


class TestFolderWeb(WebSearchContract):
    @pytest.fixture
    def web(self, pages: Path) -> Iterator[WebSearch]:
        made = FolderWeb(pages)
        yield made
        made.close()


def test_scripts_without_spaces_are_found(pages: Path) -> None:
    (pages / "tokyo.txt").write_text("日本の首都は東京です。", encoding="utf-8")
    assert [found.url for found in FolderWeb(pages).search("首都", 3)] == ["folder:tokyo.txt"]


def test_changes_of_the_folder_are_seen(pages: Path, web: FolderWeb) -> None:
    first = web.search("comet", 5)
    (pages / "rain.txt").unlink()
    (pages / "new.txt").write_text("A second comet came in June, brighter than the first comet.")
    (pages / "sky" / "comet.html").write_text(page("<p>Nothing to see here any more, the page has moved away.</p>"))
    found = {each.url: each.id for each in web.search("comet", 5)}
    assert set(found) == {"folder:new.txt", "folder:sky/deep/list.md"}
    assert found["folder:sky/deep/list.md"] in {each.id for each in first}


def test_the_same_page_saved_twice_is_one_result(pages: Path, web: FolderWeb) -> None:
    head = '<title>T</title><link rel="canonical" href="https://example.org/comet">'
    for name in ("a.html", "b.html"):
        (pages / name).write_text(page(f"<p>{COMET * 2}</p>", head))
    urls = [found.url for found in web.search("comet tail", 10)]
    assert urls.count("https://example.org/comet") == 1


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path, pages: Path, web: FolderWeb) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("The comet is a secret.")
    (pages / "secret.txt").symlink_to(outside / "secret.txt")
    (pages / "outside").symlink_to(outside)
    (pages / "loop").symlink_to(pages)
    (pages / "gone.txt").symlink_to(tmp_path / "nowhere")
    (pages / "inside.txt").symlink_to(pages / "rain.txt")
    found = web.search("comet", 10)
    assert all("secret" not in each.text for each in found)
    assert len(found) == 4
    assert any(each.name == "secret.txt" and each.why.startswith("a link") for each in web.problems)
    assert any(each.name == "gone.txt" and each.why for each in web.problems)


def test_what_can_t_be_read_is_left_out_and_named(pages: Path, web: FolderWeb) -> None:
    (pages / "binary.html").write_bytes(b"\x00\x01\x02comet" * 50)
    (pages / "empty.md").write_text("")
    (pages / "large.txt").write_bytes(b"comet " * (folder_module.MAX_FILE_BYTES // 6 + 1))
    os.mkfifo(pages / "pipe.txt")
    assert len(web.search("comet", 10)) == 3
    assert {each.name for each in web.problems} == {"binary.html", "empty.md", "large.txt", "pipe.txt"}
    (pages / "empty.md").unlink()
    web.search("comet", 1)
    assert all(each.name != "empty.md" for each in web.problems)


def test_a_name_that_is_no_text_is_searched_all_the_same(pages: Path, web: FolderWeb) -> None:
    with open(os.fsencode(pages) + b"/\xff\xfe.txt", "w") as opened:
        opened.write("A halo around the moon.")
    assert web.search("halo", 1)[0].url.startswith("folder:")


def test_a_page_that_became_a_link_since_it_was_listed_is_not_followed(tmp_path: Path, pages: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "rain.txt").write_text("The comet is secret.")
    listed, _ = folder_module._list_pages(pages)
    (file,) = [each for each in listed if each.relative == "rain.txt"]
    (pages / "rain.txt").unlink()
    (pages / "rain.txt").symlink_to(outside / "rain.txt")
    assert folder_module._read(file) == (None, "it is a link now, which is not followed")


@pytest.mark.parametrize("kind", ["missing", "file", "empty"])
def test_a_folder_that_can_t_serve_says_what_to_do(tmp_path: Path, kind: str) -> None:
    place = tmp_path / "place"
    if kind == "file":
        place.write_text("comet")
    elif kind == "empty":
        place.mkdir()
    with pytest.raises(WebSearchError) as caught:
        FolderWeb(place).search("comet", 3)
    assert place.name in caught.value.message and str(place) not in caught.value.message
    assert "Settings" in caught.value.remedy
