"""The ratchet: no package grows, and what a change takes away stays away."""

import subprocess
import tomllib

import pytest

from tests.support import code_lines

SLACK = 20
"""Lines that a row may stand above its package."""


def test_no_package_is_above_its_row() -> None:
    rows = code_lines.rows()
    above = {row: (many, rows.get(row, 0)) for row, many in code_lines.counted().items() if many > rows.get(row, 0)}
    assert above == {}, "take something away, or move a row's lines from another package's row"


def test_a_change_that_takes_lines_away_lowers_its_row() -> None:
    now = code_lines.counted()
    loose = {row: (now.get(row, 0), many) for row, many in code_lines.rows().items() if many > now.get(row, 0) + SLACK}
    assert loose == {}, "python -m tests.support.code_lines --lower"


def test_no_tree_s_rows_rise() -> None:
    """A row may take over lines of another one; their sum by tree only falls from one commit to the next."""
    table = code_lines.TABLE.relative_to(code_lines.ROOT).as_posix()
    ran = subprocess.run(
        ["git", "show", f"HEAD~1:{table}"], cwd=code_lines.ROOT, capture_output=True, text=True, check=False
    )
    if ran.returncode:
        pytest.skip("no commit before this one, or no such table in it")
    before, now = code_lines.sums(tomllib.loads(ran.stdout)["lines"]), code_lines.sums(code_lines.rows())
    assert {tree: (many, now[tree]) for tree, many in before.items() if now[tree] > many} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ('"""A module."""\n\n# a comment\nx = 1\n', 1),
        ('def f():\n    """Do it."""\n    return """two\nlines"""\n', 3),
        ('x: int = 1\n"""What x is."""\n', 1),
        ("x = [\n    1,\n\n    # why\n    2,\n]\n", 4),
    ],
)
def test_lines_of_code_are_counted_without_texts_and_comments(source: str, lines: int) -> None:
    assert code_lines.python_lines(source) == lines


def test_markup_and_word_lists_count_and_weights_do_not(tmp_path) -> None:
    package = tmp_path / "crag" / "export"
    package.mkdir(parents=True)
    (package / "page.html").write_text("<p>\n\n</p>\n")
    (package / "words.json").write_text('["' + '", "'.join(["word"] * 100) + '"]')
    (tmp_path / "crag" / "models" / "small").mkdir(parents=True)
    (tmp_path / "crag" / "models" / "small" / "weights.json").write_text("[0.1]\n" * 50)
    assert code_lines.counted(tmp_path) == {"crag/export": 2 + 8, "markup": 2}
