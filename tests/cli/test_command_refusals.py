"""What each command refuses: an exit code, a sentence that names what is wrong, nothing on standard output or disk."""

import shlex
from pathlib import Path

import pytest

from tests.support.shell import crag

SETS = {
    "good.csv": b"id,question,answer\nbuilt,When was the lighthouse of Veldt Point built?,1871\n",
    "columns.csv": b"name,city\nAnna,Veldt\n",
    "sheet.xlsx": b"PK\x03\x04....",
}


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sets")
    for name, content in SETS.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("ask ''", 1, "1 to 2,000 characters"),
        ("search '   '", 1, "1 to 2,000 characters"),
        ("ask " + "why" * 2500, 1, "1 to 2,000 characters"),
        ("ask why --strategy clever", 2, "clever"),
        ("ask why --set upper", 2, "upper"),
        ("ask why --set uper=0.5", 2, "upper"),
        ("ask why --set k=many", 2, "k"),
        ("ask why --upper 2", 2, "upper"),
        ("ask why --upper 0.2 --lower 0.4", 2, "lower threshold"),
        ("ask why --set web_on=MAYBE", 2, "web_on"),
        ("ask why --where 'date >='", 2, "gives no value"),
        ("ask why --set 'where=(a'", 2, "where: "),
        ("ask why --of nowhere.pdf", 1, "no document called nowhere.pdf"),
        ("search why --tag finance", 1, "No document has the tag finance"),
        ("evaluate SETS/good.csv --strategy clever", 2, "clever"),
        ("evaluate SETS/good.csv --limit 0", 2, "--limit"),
        ("evaluate SETS/good.csv --limit many", 2, "--limit"),
        ("evaluate SETS/good.csv --upper 2", 2, "upper"),
        ("evaluate SETS/good.csv --strategy joint --aggregation any", 2, "joint"),
        ("evaluate SETS/good.csv --csv /nowhere/out.csv", 1, "can't be written"),
        ("evaluate SETS/good.csv --json-file .", 1, "can't be written"),
        ("evaluate SETS/good.csv --library /nowhere", 1, "no library"),
        ("evaluate SETS/gone.csv", 1, "can't be read: No such file"),
        ("evaluate SETS/columns.csv", 1, "has no question column: none of 2 is question"),
        ("evaluate SETS/sheet.xlsx", 1, "a spreadsheet"),
        ("purge", 2, "needs a condition"),
        ("purge --dry-run", 2, "needs a condition"),
        ("purge --undo --older-than 30d", 2, "no conditions"),
        ("purge --undo nothing.pdf", 1, "no document called"),
        ("purge --where 'nonsense = 1'", 1, "no document has"),
        ("purge --where 'tags has'", 1, "gives no value"),
    ],
)
def test_it_is_said_what_is_wrong(
    command: str, code: int, said: str, library: Path, sets: Path, tmp_path: Path
) -> None:
    places = {"LIBRARY": library, "X": tmp_path / "x", **{f"SETS/{name}": sets / name for name in (*SETS, "gone.csv")}}
    given = [places.get(word, word) for word in shlex.split(command)]
    own = () if "--library" in given else ("--library", library)
    ran = crag(*given, *own)
    assert (ran.code, ran.out) == (code, ""), ran.err
    assert said in ran.err and "Traceback" not in ran.err
    assert not list(tmp_path.iterdir())
