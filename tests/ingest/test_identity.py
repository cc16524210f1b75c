"""Identity is the bytes; a name is a label that can do no harm."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crag.ingest.files import content_id, safe_name


def test_content_id_is_the_hash_of_the_bytes() -> None:
    assert content_id(b"abc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\Q3 report.pdf", "Q3 report.pdf"),
        ("<img src=x onerror=alert(1)>.pdf", "_img src=x onerror=alert(1)_.pdf"),
        ("evil\u202efdp.exe", "evilfdp.exe"),
        ("a\x00b\nc.pdf", "abc.pdf"),
        ("..", "document"),
        ("", "document"),
        ("Übersicht 2019.pdf", "Übersicht 2019.pdf"),
    ],
)
def test_names(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@given(st.text(max_size=200))
def test_any_name_becomes_a_harmless_label(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe) <= 120
    assert not set(safe) & set('/\\<>:"|?*\x00\n\r\t')
    assert safe.strip(". ")
    assert safe_name(safe) == safe
