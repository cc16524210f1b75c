"""What is on and what is off, each with its reason in words: the sentences on a provider plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from crag.core.config import AppConfig
from crag.core.documents import Look
from crag.core.errors import ModelError, ModelMismatchError, ProviderError
from crag.core.makers import name_in_sentence
from crag.core.metadata import Fields, days_in
from crag.core.settings import Settings
from crag.core.types import Document
from crag.ingest.chunking import chunk_id
from crag.ingest.identity import content_id
from crag.pipeline.resolve import Missing, ProviderPlan, Service
from crag.providers.registry import FOLDER, GGUF, LOCAL, Unusable, key_variables, unusable
from crag.runtime.provider import WebProvider
from crag.storage.library import Library
from crag.text.formats import format_size


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderStatus:
    """Whether something is on, and the reason in words."""

    name: str
    on: bool
    detail: str


def problem(missing: Missing) -> ProviderError:
    """Why something that was chosen can't be used, and what to do."""
    provider = missing.provider
    title = provider.title if provider else missing.name
    server = (provider.server or title) if provider else ""
    match missing.reason:
        case "unknown":
            said = f"There is no provider called {missing.name!r} here.", "Choose another in Settings, or install it."
        case "no-model" if provider == GGUF:
            said = "No model file is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL to its path."
        case "no-model":
            said = "No model is chosen.", "Choose one in Settings, or set CRAG_LLM_MODEL."
        case "no-key":
            known = key_variables()
            variables = (known.get(provider.name) or known[provider.key]) if provider else ("",)
            said = f"{title} needs a key.", f"Enter it in Settings, or set {variables[-1]}."
        case "no-address":
            said = f"The {server} server has no address.", "Enter it in Settings."
        case "bad-address":
            example = provider.example if provider else ""
            said = f"{missing.address!r} is no address of a {server} server.", f"Write it as {example}."
        case "not-allowed":
            host = urlsplit(missing.address).hostname
            said = f"{host} is not among the servers that may be used here.", "Ask your administrator."
        case "no-folder":
            said = "No folder of pages is set.", "Name it in Settings, or set CRAG_WEB_FOLDER."
        case "no-file":
            said = f"There is no model file {missing.file}.", "Check its path in Settings, or CRAG_LLM_MODEL."
        case "no-gguf":
            said = f"{missing.file} is no GGUF file.", "Choose a model file whose name ends in .gguf."
        case "cut-off":
            has, whole = format_size(missing.has), f" of {format_size(missing.needs)}" if missing.needs else ""
            said = f"{missing.file} is cut off: {has}{whole} are there.", "Download or copy it again."
        case "no-chat":
            said = f"{missing.file} holds no model that converses.", "Choose one made for chat: often named instruct."
        case "no-memory":
            needs, free = format_size(missing.needs), format_size(missing.has)
            said = f"{missing.file} needs about {needs} of memory; {free} are free.", "Choose a smaller model file."
        case "no-extra":
            said = "What runs model files is not installed.", "Install it: pip install xllamacpp, and restart."
        case "no-language-model":
            said = "The evaluator is to be a language model, and none is set.", "Set one in Settings."
    return ProviderError(*said)


def model_status(name: str, load: Callable[[], str]) -> ProviderStatus:
    """The state of a local model; `load` returns its id."""
    try:
        return ProviderStatus(name=name, on=True, detail=f"{load()}, on this machine")
    except ModelError as error:
        return ProviderStatus(name=name, on=False, detail=str(error))


def storage_statuses(config: AppConfig) -> list[ProviderStatus]:
    """Where documents are kept and what finds their chunks: host names at most, of an address that holds a password."""
    database = (
        urlsplit(config.storage.database_url).hostname or "another machine" if config.storage.database_url else ""
    )
    milvus = urlsplit(config.storage.milvus_uri).hostname
    if config.storage.index != "milvus":
        index = "FAISS and tantivy, on this machine"
    else:
        index = f"Milvus, at {milvus}" if milvus else "Milvus Lite, on this machine"
    return [
        ProviderStatus(
            name="Records", on=True, detail=f"PostgreSQL, at {database}" if database else "SQLite, on this machine"
        ),
        ProviderStatus(name="Chunk index", on=True, detail=index),
    ]


def outside_statuses(plan: ProviderPlan, place: Callable[[Path], str] = str) -> list[ProviderStatus]:
    """The language model, what grades and writes, the web, and plug-ins that can't be used. Nothing is called.

    `place` names a folder.
    """
    said = [_model(plan), _grading(plan), _answers(plan), _web(plan, place)]
    return [*said, *(ProviderStatus(name="Plug-in", on=False, detail=_plug_in(each)) for each in unusable())]


def parts_in_words(settings: Settings, plan: ProviderPlan, *, evaluator: str, generator: str) -> str:
    """What grades, writes and searches under these settings: models and host names, no other address and no key.

    `evaluator` and `generator` name the local parts. Raises ProviderError for a service that is chosen and can't be
    used: what would be measured then is something else.
    """
    if plan.missing:
        raise problem(plan.missing[0])
    grades = name_in_sentence(plan.grader.endpoint.id) if plan.grader.provider != LOCAL else evaluator
    if settings.evaluator == "none":
        grades = "nothing"
    writes = name_in_sentence(plan.writer.endpoint.id) if plan.writer else generator
    web = ", then ".join(_describe_web(each, plan) for each in plan.webs) or "off"
    return f"Graded by {grades}; written by {writes}; web: {web if settings.web_on else 'not searched'}."


def _describe_web(web: Service[WebProvider], plan: ProviderPlan) -> str:
    if web.provider != FOLDER:
        return web.provider.name
    return plan.given_web or f"folder {plan.folder.name if plan.folder else 'none'}"


def _model(plan: ProviderPlan) -> ProviderStatus:
    missing_for, on = plan.missing_for("answer"), plan.model is not None
    detail = name_in_sentence(plan.model.endpoint.id) if plan.model else "none is set; local models do the work"
    if plan.model and (file := plan.model.endpoint.file):
        detail = f"{detail}, in about {format_size(file.memory)} of memory; nothing leaves it"
    return ProviderStatus(name="Language model", on=on, detail=str(problem(missing_for)) if missing_for else detail)


def _grading(plan: ProviderPlan) -> ProviderStatus:
    by, missing_for = plan.grader, plan.missing_for("evaluate")
    if by.provider.needs == "model":
        detail = "by the language model; the local evaluator stands by"
    elif by.provider != LOCAL:
        who = name_in_sentence(by.endpoint.id) if by.provider.server else by.provider.title
        detail = f"by {who}; the local evaluator stands by"
    elif missing_for is not None and missing_for.reason == "no-language-model":
        detail = "by the local evaluator, until the language model is on"
    else:
        detail = "by the local evaluator" + (f". {problem(missing_for)}" if missing_for else "")
    return ProviderStatus(name="Grading", on=True, detail=detail)


def _answers(plan: ProviderPlan) -> ProviderStatus:
    detail = "extractive: quotes the best sentences, no language model"
    if plan.writer:
        detail = "written by the language model, each sentence checked"
    return ProviderStatus(name="Answers", on=True, detail=detail)


def _web(plan: ProviderPlan, place: Callable[[Path], str]) -> ProviderStatus:
    missing_for, on = plan.missing_for("search"), bool(plan.webs)
    detail = _on(plan.webs[0], plan, place) if on else "off"
    if plan.asks:
        detail += "; each query waits for a yes"
    if missing_for is not None:
        detail = f"{detail}. {problem(missing_for)}" if on else str(problem(missing_for))
    return ProviderStatus(name="Web search", on=on, detail=detail)


def _on(web: Service[WebProvider], plan: ProviderPlan, place: Callable[[Path], str]) -> str:
    if web.provider == FOLDER:
        return plan.given_web or f"folder: {place(plan.folder) if plan.folder else None}"
    where = f" at {web.host}" if web.provider.server else ""
    return f"{web.provider.title}{where}" + (", with a key" if web.endpoint.key else "")


def _plug_in(each: Unusable) -> str:
    """What is wrong with what another package registered."""
    why = {
        "fails": f"it fails when it is loaded ({each.detail})",
        "nonsense": f"it is no record of a provider ({each.detail})",
        "name-taken": f"its name, {each.detail}, is taken by another provider",
    }[each.reason]
    return f"{each.entry}, of the package {each.package}, is not used: {why}"


_LOOKS: Mapping[Look, str] = MappingProxyType(
    {
        "changed": "Its web page has changed since {fetched}: fetch it again.",
        "duplicate": "Its web page says since {looked} what another document here does: delete one of them.",
        "gone": "Its web page is gone, seen on {looked}; the text here is of {fetched}.",
        "refused": "Its web page wants people to sign in, seen on {looked}; the text here is of {fetched}.",
        "unreachable": "Its web page did not come on {looked}; the text here is of {fetched}.",
        "unreadable": "Its web page could not be read on {looked}; the text here is of {fetched}.",
    }
)


def stale(library: Library, ids: Sequence[str] | None = None, today: date | None = None) -> dict[str, tuple[str, ...]]:
    """What is stale of these documents, or of all, in words, by the document's id; others are left out.

    A file that is there no more tells nothing; a web page tells what the last look at it found. Of `ids` that are here
    no more, those that a changed page replaced are listed.
    """
    vectors: tuple[str, ...] = ()
    try:
        library.check_model()
    except ModelMismatchError:
        vectors = ("Its vectors are of another embedding model: re-index the library.",)
    first, given = library.documents.first_chunks(ids), library.documents.given(ids)
    found: dict[str, tuple[str, ...]] = {}
    documents = library.documents.all(ids)
    for document in documents:
        said = vectors if document.id in first else ()
        if document.id in first:
            id, *span = first[document.id]
            if id != chunk_id(document.id, *span):
                said += ("Its chunks are of an earlier version: delete it and add it again.",)
        if document.path and _changed(document):
            said += ("Its file changed since it was read: delete it and add the file again.",)
        said += _describe_last_look(document) + _due(given.get(document.id, {}), today or datetime.now(UTC).date())
        if said:
            found[document.id] = said
    gone = set(ids or ()) - {document.id for document in documents}
    return {**found, **_find_replacements(library, gone)}


def _describe_last_look(document: Document) -> tuple[str, ...]:
    """What the last look at its web page found."""
    if not document.look:
        return ()
    fetched = (document.fetched_at or document.added_at)[:10]
    return (_LOOKS[document.look].format(looked=document.looked_at[:10], fetched=fetched),)


def _due(given: Fields, today: date) -> tuple[str, ...]:
    """Whether the day is over by which a person wanted to look at it: of a month or a year, its last."""
    wanted = given.get("review_by")
    days = days_in(wanted) if isinstance(wanted, str) else None
    return (f"It was to be reviewed by {wanted}.",) if days and days[1] < today.isoformat() else ()


def _find_replacements(library: Library, gone: set[str]) -> dict[str, tuple[str, ...]]:
    """Of documents that are here no more, those in whose place their changed page came."""
    if not gone:
        return {}
    return {
        id: (f"Its web page has changed: since {document.fetched_at[:10]} the library holds the new text. Ask again.",)
        for document in library.documents.all()
        for id in document.earlier
        if id in gone
    }


def _changed(document: Document) -> bool:
    """Whether its file is there and holds something else now."""
    try:
        now = Path(document.path).stat()
        if (now.st_size, now.st_mtime_ns) == (document.size, document.modified):
            return False
        return now.st_size != document.size or _content(document.path, now.st_mtime_ns) != document.id
    except OSError:
        return False


@lru_cache(maxsize=256)
def _content(path: str, modified: int) -> str:
    """What a file of this time holds; `modified` is there to tell a later one."""
    return content_id(Path(path).read_bytes())
