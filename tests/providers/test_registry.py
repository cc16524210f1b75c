"""The registry: choices, settings and keys that follow from the records, and other packages' providers, each apart."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from crag.cli.options import option_of, provider_settings
from crag.core.config import AppConfig, Keys
from crag.core.errors import SettingsError
from crag.core.trace import Trace
from crag.engine import Engine
from crag.messages.providers import describe_plan
from crag.pipeline.resolve import resolve_providers
from crag.providers import registry
from crag.providers.prices import format_prices, price_of, table
from crag.runtime.provider import Price, Provider
from crag.testing.fakes import ScriptedEvaluator
from tests.support.plugging import WEB, plugged
from tests.support.small_library import engine_with_texts

GRADER = """
from crag.runtime.provider import EvaluatorProvider
from crag.core.types import Grade


class Grader:
    id = "g"
    calls_models = False

    def __init__(self, parts):
        self.parts = parts

    def grade(self, question, passages):
        {body}

    def grade_joint(self, question, passages):
        {joint}


RECORD = EvaluatorProvider(name="mine", title="Mine", about="Grades by my own means.", leaves=False, make=Grader)
"""
GOOD = GRADER.format(
    body='yield from (Grade(passage_id=each.id, score=0.75, evaluator="g") for each in passages)',
    joint='return Grade(passage_id="joint", score=0.75, evaluator="g")',
)
QUESTION = "How long did hiring take in 2019?"


@pytest.fixture(autouse=True)
def _modules_as_before() -> Iterator[None]:
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name in ("archive", "mine", "other"):
            del sys.modules[name]


# Those that ship


def test_every_choice_key_and_address_follows_from_a_record() -> None:
    assert registry.choices("web")[:2] == ("off", "folder") and "searxng" in registry.choices("web_fallback")
    assert registry.choices("evaluator")[:2] == ("local", "llm")
    assert registry.choices("writer") == ("auto", "extractive", "llm") and registry.choices("threads") == ()
    assert registry.key_variables()["brave"] == ("CRAG_BRAVE_KEY", "BRAVE_API_KEY")
    assert {"tavily_base_url", "searxng_base_url", "brave_base_url"} <= set(registry.address_settings())
    assert option_of("searxng_base_url") == "--searxng-base-url" and "searxng_base_url" in provider_settings()


def test_openai_s_own_variable_is_for_no_other_server() -> None:
    found = registry.given_keys({"OPENAI_API_KEY": "sk-1"})
    assert found.get("llm") is None and found.get("openai") == SecretStr("sk-1")


def test_a_new_provider_is_one_file_and_one_line() -> None:
    """Whatever else names it would have to be touched for the next one too."""
    root = Path(__file__).resolve().parents[2]
    files = [*(root / "crag").rglob("*.py"), *(root / "ui").rglob("*.py")]
    for name in ("searxng", "brave"):
        naming = {path.name for path in files if name in path.read_text(encoding="utf-8").lower()}
        assert naming == {f"{name}.py", "registry.py"}
        assert len((root / "crag" / "web" / f"{name}.py").read_text(encoding="utf-8").splitlines()) <= 90


@pytest.mark.parametrize(
    "odd", [{"name": "Big"}, {"name": ""}, {"title": " "}, {"name": 7}, {"address": "x"}, {"price": 3}]
)
def test_a_record_that_can_be_none_is_refused(odd: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Provider(**{"name": "a", "title": "A", "about": "", **odd})  # type: ignore[arg-type]


# A provider's address in the configuration


def test_an_address_comes_from_value_variable_or_file_and_an_empty_one_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAG_SEARXNG_BASE_URL", "http://b")
    monkeypatch.setenv("CRAG_BRAVE_BASE_URL", "")
    assert AppConfig.of(searxng_base_url="http://a").get("searxng_base_url") == "http://a"
    given = AppConfig.from_environment()
    assert given.get("searxng_base_url") == "http://b" and given.get("brave_base_url") == ""
    assert AppConfig.of(**given.flat()) == given
    assert AppConfig.of(tavily_base_url="") == AppConfig()


@pytest.mark.parametrize("name", ["colour", "base_url", "X_base_url", "web_folders"])
def test_what_is_no_setting_is_named(name: str) -> None:
    with pytest.raises(SettingsError, match=name):
        AppConfig.of(**{name: "x"})


# Those of other packages


def test_another_package_s_web_is_offered_priced_and_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plugged(tmp_path / "a", monkeypatch, "archive", WEB)
    assert "archive" in registry.choices("web") and registry.title("archive") == "Archive"
    assert registry.key_variables()["archive"] == ("CRAG_ARCHIVE_KEY",)
    assert "archive_base_url" in provider_settings() and registry.unusable() == ()
    assert price_of("", "archive", table()) == Price(call=0.5) and format_prices(table()) == ()
    config = AppConfig.of(web="archive", fetch_pages=False)
    [missing] = resolve_providers(config, Keys()).missing
    assert (missing.step, missing.reason) == ("search", "no-key")
    trace = asked(tmp_path / "data", config, Keys(archive=SecretStr("k")))
    assert [page.provider for page in trace.pages] == ["archive"] * 3 and not trace.failures


def test_another_package_s_evaluator_grades_and_the_local_one_stands_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plugged(tmp_path / "a", monkeypatch, "mine", GOOD, "crag.evaluators")
    trace = asked(tmp_path / "data", AppConfig.of(evaluator="mine"))
    assert {(grade.score, grade.evaluator) for grade in trace.rounds[-1].grades.values()} == {(0.75, "mine:g")}
    assert "by Mine; the local" in describe_plan(resolve_providers(AppConfig.of(evaluator="mine"), Keys()))[1].detail


def asked(data: Path, config: AppConfig, keys: Keys | None = None, question: str = QUESTION) -> Trace:
    with engine_with_texts(config.changed(data=data), lambda text: 0.0, keys or Keys()) as engine:
        return Trace.from_events(engine.ask(question))


SHELF = WEB.replace("archive", "shelf")
BAD = {
    "raises": ("raise RuntimeError('at import')", "fails", "RuntimeError"),
    "leaves": ("import sys\nsys.exit(3)", "fails", "SystemExit"),
    "is not there": ("OTHER = 1", "fails", "AttributeError"),
    "a number": ("RECORD = 7", "nonsense", "int"),
    "a class": ("class RECORD: pass", "nonsense", "type"),
    "an evaluator": (GOOD, "nonsense", "EvaluatorProvider"),
    "a record that can be none": (SHELF.replace('name="shelf"', 'name="Archive!"'), "fails", "ValueError"),
    "a name that is taken": (SHELF.replace('name="shelf"', 'name="tavily"'), "name-taken", "tavily"),
    "a slot that is taken": (SHELF.replace('name="shelf"', 'name="rerank"'), "name-taken", "rerank"),
    "a word that is taken": (SHELF.replace('name="shelf"', 'name="off"'), "name-taken", "off"),
    "another's key": (SHELF.replace('key="shelf"', 'key="llm"'), "nonsense", "shelf"),
    "another's address": (SHELF.replace("shelf_base_url", "llm_base_url"), "nonsense", "shelf_base_url"),
    "nothing to make": (SHELF.replace("make=Search", "make=None"), "nonsense", "shelf"),
}


@pytest.mark.parametrize(("code", "reason", "detail"), BAD.values(), ids=BAD)
def test_what_can_t_be_used_is_told_and_everything_else_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str, detail: str
) -> None:
    before = registry.choices("web")
    plugged(tmp_path / "bad", monkeypatch, "other", code)
    plugged(tmp_path / "good", monkeypatch, "archive", WEB)
    assert registry.choices("web") == (*before, "archive")
    [told] = registry.unusable()
    assert (told.entry, told.package, told.reason) == ("other", "other", reason) and detail in told.detail
    last = describe_plan(resolve_providers(AppConfig(), Keys()))[-1]
    assert last.name == "Plug-in" and not last.on and "other, of the package other, is not used" in last.detail


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("self.parts = parts", "raise RuntimeError", "can't be used (RuntimeError)"),
        ("return [", "raise KeyError('x')\n        return [", "failed (KeyError)"),
        ("return [", "return 3\n        [", "failed (TypeError)"),
    ],
)
def test_a_web_that_fails_in_its_own_way_is_a_failed_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    plugged(tmp_path / "a", monkeypatch, "archive", WEB.replace(old, new))
    trace = asked(tmp_path / "data", AppConfig.of(web="archive", fetch_pages=False), Keys(archive=SecretStr("k")))
    assert trace.finished and trace.answer is not None and not trace.pages
    assert any(f"Archive {said}" in failure.cause for failure in trace.failures)


def test_pages_that_are_none_or_lead_nowhere_safe_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = WEB.replace("return [", "return [None, 7] + [").replace(
        'url=f"https://archive.example/{n}"', 'url="javascript:alert(1)" if n == 1 else f"https://archive.example/{n}"'
    )
    plugged(tmp_path / "a", monkeypatch, "archive", code)
    trace = asked(tmp_path / "data", AppConfig.of(web="archive", fetch_pages=False), Keys(archive=SecretStr("k")))
    assert [page.url for page in trace.pages] == ["https://archive.example/2", "https://archive.example/3"]


@pytest.mark.parametrize(
    "body",
    [
        "raise RuntimeError",
        "return 3",
        "yield 7",
        'yield Grade(passage_id="none of them", score=0.5, evaluator="g")',
        'yield Grade(passage_id=passages[0].id, score=7, evaluator="g")',
    ],
)
def test_an_evaluator_that_fails_in_its_own_way_leaves_the_local_one_to_grade(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    plugged(tmp_path / "a", monkeypatch, "mine", GRADER.format(body=body, joint="return 1"), "crag.evaluators")
    engine = Engine(
        AppConfig.of(data=tmp_path, evaluator="mine"), Keys(), evaluator=ScriptedEvaluator(score=lambda _: 0.5)
    )
    grades = list(engine.grade(QUESTION, ["a", "b"]))
    assert [grade.score for grade in grades] == [0.5, 0.5] and all("Mine" in grade.why for grade in grades)
