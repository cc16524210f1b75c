"""The house: no style that nothing is drawn with."""

import re

from tests.support.product import ROOT, modules


def test_every_style_is_drawn_with() -> None:
    styles = (ROOT / "crag" / "export" / "html" / "static" / "style.css").read_text(encoding="utf-8")
    selectors = re.sub(r"\{[^{}]*\}", " ", re.sub(r"/\*.*?\*/", "", styles, flags=re.DOTALL))
    code = [*modules(), *(path for folder in ("ui", "crag") for path in (ROOT / folder).rglob("*.js"))]
    words = {word for path in code for word in re.findall(r"[\w-]+", path.read_text(encoding="utf-8"))}
    ours = {name.removeprefix("st-key-") for name in re.findall(r"\.([A-Za-z_][\w-]*)", selectors)}
    numbered = re.compile(r"s\d|st[A-Z]\w+")  # the classes of an opacity, and Streamlit's own
    assert {name for name in ours - words if not numbered.fullmatch(name)} == set()
