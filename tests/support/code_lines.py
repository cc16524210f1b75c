"""Lines of code a package, and the table that holds them down: `tests/house/ratchet.toml`.

python -m tests.support.code_lines          prints what each row is and may be
python -m tests.support.code_lines --lower  sets the rows to what is counted, where no tree rises

Comments, docstrings and blank lines are not counted. Templates, style sheets, scripts and lists of words count beside
the Python, so that nothing gets smaller by moving there. The weights of models are data.
"""

import ast
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests" / "house" / "ratchet.toml"
WHOLE = ("tests", "benchmarks", "corpora", "training")
"""Folders with one row; the packages of `crag` and `ui` have one each."""
MARKUP = {".html", ".j2", ".jinja", ".css", ".js", ".mjs", ".ts"}
WORDS = {".json", ".txt", ".csv", ".tsv", ".toml", ".yaml", ".yml"}
LINE = 100
"""Characters of a list of words that count as a line."""
_LONG_TEXT = re.compile(rb"""[A-Za-z]{0,2}(\"{3}|'{3})""")


def python_lines(source: str) -> int:
    """Count the lines that hold code: no blank line, no comment, no text that stands alone."""
    lines = source.splitlines()
    code = {at for at, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
    alone: set[ast.AST] = set()
    for node in ast.walk(ast.parse(source)):  # a statement comes before what is in it
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            alone.add(node.value)
            code.difference_update(_lines_under(node))
        elif isinstance(node, ast.Constant | ast.JoinedStr) and node not in alone and _is_long(node, lines):
            code.update(_lines_under(node))  # a blank line in a text is part of it
    return len(code)


def _is_long(node: ast.expr, lines: list[str]) -> bool:
    """Whether a text is written in three quotes."""
    return _LONG_TEXT.match(lines[node.lineno - 1].encode()[node.col_offset :]) is not None


def _lines_under(node: ast.expr | ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def lines_of(path: Path, product: bool) -> int:
    """Count one file. Outside the product only Python counts: what lies there is data of tests and results."""
    if path.suffix == ".py":
        return python_lines(path.read_text(encoding="utf-8"))
    if not product or path.suffix not in MARKUP | WORDS or "models" in path.parts:
        return 0
    text = path.read_text(encoding="utf-8")
    filled = sum(bool(line.strip()) for line in text.splitlines())
    return filled if path.suffix in MARKUP else max(filled, len(text) // LINE)


@cache
def counted(root: Path = ROOT) -> dict[str, int]:
    """Each row's lines as the tree is now."""
    found: dict[str, int] = {}
    for tree in ("crag", "ui"):
        for path in (root / tree).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                inner = path.relative_to(root).parts
                row = "/".join(inner[:2]) if len(inner) > 2 else tree
                found[row] = found.get(row, 0) + lines_of(path, product=True)
    found["markup"] = sum(
        lines_of(path, product=True)
        for tree in ("crag", "ui")
        for path in (root / tree).rglob("*")
        if path.suffix in MARKUP
    )
    for folder in WHOLE:
        files = [path for path in (root / folder).rglob("*.py") if "__pycache__" not in path.parts]
        found[folder] = sum(lines_of(path, product=False) for path in files)
    return {row: lines for row, lines in sorted(found.items()) if lines}


def rows() -> dict[str, int]:
    """Each row as the table has it."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["lines"]


def goals() -> dict[str, int]:
    """What the trees shall come down to."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))["goals"]


def sums(lines: dict[str, int]) -> dict[str, int]:
    """The rows added up by tree. Benchmarks and training share `corpora`."""
    return {
        "crag": sum(many for row, many in lines.items() if row.partition("/")[0] == "crag"),
        "ui": sum(many for row, many in lines.items() if row.partition("/")[0] == "ui"),
        "markup": lines.get("markup", 0),
        "tests": lines.get("tests", 0),
        "benchmarks and training": sum(lines.get(row, 0) for row in ("benchmarks", "corpora", "training")),
    }


def write(lines: dict[str, int], aims: dict[str, int]) -> None:
    """Write the table with these rows."""
    text = [
        "# Lines of code a package, held down by tests/house/test_ratchet.py; a change that lowers one lowers its row:",
        "# python -m tests.support.code_lines --lower",
        "",
        "[lines]",
        *(f'"{row}" = {many}' for row, many in lines.items()),
        "",
        "[goals]",
        *(f'"{tree}" = {many}' for tree, many in aims.items()),
    ]
    TABLE.write_text("\n".join(text) + "\n", encoding="utf-8")


def main() -> int:
    now, before = counted(), rows()
    rises = {tree for tree, many in sums(now).items() if many > sums(before)[tree]}
    if "--lower" in sys.argv and not rises:
        write(now, goals())
    above = {row: many for row, many in now.items() if many > rows().get(row, 0)}
    sys.stdout.writelines(f"{row} has {many} lines, its row {rows().get(row, 0)}\n" for row, many in above.items())
    for tree, many in sums(now).items():
        sys.stdout.write(f"{tree:26}{many:7}   row {sums(rows())[tree]:7}   goal {goals()[tree]:6}\n")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
