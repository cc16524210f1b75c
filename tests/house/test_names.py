"""The house: the public names, pinned, and what importing costs."""

from __future__ import annotations

import importlib
import subprocess
import sys

PUBLIC = {
    "crag": ["Engine", "__version__"],
    "crag.core.access": [
        "Access",
        "Arrivals",
        "Caller",
        "FOREIGN",
        "WANTED",
        "foreign",
        "foreign_origin",
        "is_loopback",
    ],
    "crag.text.injection": ["InjectionKind", "InjectionSpan", "detect_injection", "injection_within", "mask_injection"],
    "crag.text.rows": ["is_table_row"],
    "crag.text.amounts": ["amountless", "without_amounts"],
    "crag.core.children": ["PACKAGE_PARENT", "bare_environment"],
    "crag.core.clauses": ["Clause", "Condition", "Either", "Every", "Not", "Operand", "Relation", "WORD"],
    "crag.core.circuit": ["Circuits", "OpenCircuit", "Service"],
    "crag.core.config": ["AppConfig"],
    "crag.core.heaps": ["share_heaps"],
    "crag.core.lru": ["LruCache"],
    "crag.core.rates": ["Buckets"],
    "crag.core.shares": ["Shares"],
    "crag.core.transfer": ["BodyError", "Pace", "bound_body", "drop_when_unread", "too_large"],
    "crag.mcp.sessions": ["Sessions"],
    "crag.run.work": ["Told", "Work"],
    "crag.library.begun": ["Begun", "BegunWork"],
    "crag.run.unfinished": ["settle_runs"],
    "crag.core.runfacts": ["Outcome", "RunFacts", "figures_of"],
    "crag.monitoring.choice": ["BINS", "Choice", "Chosen", "Span", "behind", "bin_of", "chosen", "rank"],
    "crag.monitoring.drift": ["ALPHA", "Drift", "FEWEST", "Verdict", "drift", "drift_word", "evidence_of"],
    "crag.monitoring.facts": ["Outcome", "RunFacts", "facts_of", "priced"],
    "crag.monitoring.figures": [
        *("ACTIONS", "By", "Change", "Group", "Latency", "Spending", "actions", "changes", "distribution", "ended"),
        *("failures", "faithfulness", "gaps", "groups", "latency", "over_time", "rewrites", "spending", "web_rate"),
    ],
    "crag.monitoring.intervals": ["Estimate", "mean", "quantile", "share"],
    "crag.monitoring.ledger": ["Ledger", "Reading"],
    "crag.monitoring.sentences": ["MOST_REWRITES", "Said", "change_sentence", "drift_sentence", "said"],
    "crag.teams.store": ["Store"],
    "crag.teams.identity": ["EMAIL", "EMAIL_CLAIM", "Identity"],
    "crag.teams.people": ["GIVEN_ROLES", "People", "Person", "Standing", "people_of", "settings_in_use"],
    "crag.teams.acts": ["AuditedAct"],
    "crag.teams.actors": ["Actor", "Somebody", "check", "one_line", "refusals_noted"],
    "crag.teams.audit": ["AuditLog", "AuditedAct", "Entry", "told"],
    "crag.teams.floods": ["Floods"],
    "crag.teams.links": ["LONGEST", "Link", "Links"],
    "crag.teams.spaces": ["Kind", "Member", "Shared", "Workspace", "Workspaces", "own_name"],
    "crag.limits.idle": ["Ending", "Idle", "Life", "judged"],
    "crag.limits.intake": ["Intake"],
    "crag.limits.ledger": ["Ledger", "Refused", "Reserved", "Want"],
    "crag.limits.overrides": ["ChangedError", "Override", "Overrides", "checked"],
    "crag.limits.purse": ["Purse", "Spendable"],
    "crag.limits.quantities": [
        *("Bound", "PERIODS", "Period", "QUANTITIES", "Quantity", "decide", "left", "over_at", "period_of"),
    ],
    "crag.limits.quotas": ["Admission", "Quotas", "Standing"],
    "crag.limits.told": ["amount", "day_limit", "full", "nearly", "number", "soon", "too_many"],
    "crag.sharing": ["Teams"],
    "crag.core.roles": ["ACTS", "Act", "ROLES", "Role", "higher", "lower", "may"],
    "crag.core.storage_settings": ["StorageSettings"],
    "crag.core.serving_settings": ["ServingSettings"],
    "crag.core.provider_settings": ["ProviderSettings"],
    "crag.core.limit_settings": ["LimitSettings"],
    "crag.core.connection": ["BoundedClient", "MAX_REPLY", "OversizedError", "PackingError", "certificates"],
    "crag.core.documents": [
        *("Chunk", "Document", "FromWeb", "INDEXED_AS", "LOW_RECOGNITION", "LineBox", "Look", "Media", "Rect"),
        "mean_confidence",
    ],
    "crag.core.errors": [
        "DayLimitError",
        *(
            "AccessError",
            "BudgetError",
            "BusyError",
            "CancelledError",
            "CragError",
            "CutOffError",
            "DamagedError",
            "DocumentError",
            "EmptyError",
        ),
        *("EmptyLibraryError", "EncryptedError", "FilterError", "InputError", "KeyRejectedError", "LibraryError"),
        *(
            "LimitError",
            "ModelError",
            "ModelFileError",
            "ModelMismatchError",
            "UnexpectedError",
            "UnknownMediaError",
            "NotApprovedError",
            "NotFoundError",
            "ProviderError",
        ),
        *("GoneError", "PageError", "SignInError"),
        *(
            "QuestionError",
            "QuotaError",
            "PROGRAM",
            "Reason",
            "ReplyError",
            "RestingError",
            "RetrieverError",
            "RoomError",
            "SettingsError",
            "StorageError",
            "UnreachableError",
            "WebSearchError",
        ),
    ],
    "crag.core.eventlog": ["event_from_json", "event_to_json", "events_from_jsonl", "events_to_jsonl"],
    "crag.core.events": [
        *(
            "ActionTaken",
            "Answered",
            "ApprovalAsked",
            "ApprovalGiven",
            "Called",
            "Cancelled",
            "Contextualized",
            "Event",
            "Failed",
            "Instead",
            "Skipped",
        ),
        *(
            "Graded",
            "Guided",
            "Queued",
            "Refined",
            "Retrieved",
            "Rewritten",
            "RunFinished",
            "RunStarted",
            "Scoped",
            "Searched",
            "StepFinished",
        ),
        *("StepStarted", "Token", "Verified"),
    ],
    "crag.testing.fakes": [
        *("FakeChat", "FakeClock", "FixedRetriever", "FixedWeb", "ScriptedEvaluator", "ScriptedReader"),
        *("ScriptedStripGrader", "chunk_of"),
    ],
    "crag.core.exchanges": ["Carried", "Exchange", "Standalone"],
    "crag.core.fences": ["UNTRUSTED", "fenced", "fenced_text", "marked", "quoted", "sendable"],
    "crag.core.fields": ["days_of", "first_problem", "meta", "origins_of", "setting"],
    "crag.core.ingesting": [
        *("Cut", "DocumentAdded", "DocumentFailed", "DuplicateFound", "Embedding", "IngestEvent", "Page"),
        "ParsedDocument",
        *("DocumentRefreshed", "Found", "IngestStep", "ReadingPage", "ReadingQueued", "RecognisingPage", "TableSpan"),
    ],
    "crag.core.advice": [
        *("HEADS", "about_text", "against_text", "headings_text", "suggestion_text", "web_text"),
    ],
    "crag.core.guidance": ["About", "Guidance", "Near", "Suggestion"],
    "crag.core.keys": ["Keys"],
    "crag.text.marks": ["few_marks", "unmarked"],
    "crag.core.listening": ["IDLE_SECONDS", "UNREAD_SECONDS", "listening", "room_for_files"],
    "crag.core.makers": ["Maker", "maker", "named"],
    "crag.core.metadata": [
        *("FIXED", "Fields", "KEPT_CONFIDENCE", "KEPT_SOURCE", "Kind", "MOST_FIELDS", "RESERVED", "Value"),
        *("boolean_in", "checked_fields"),
        *(
            "days_in",
            "field_name",
            "fields_of",
            "kept_from_web",
            "known_fields",
            "number_in",
            "read_field",
            "stored_fields",
            "tags_of",
            "written_field",
        ),
    ],
    "crag.core.meter": ["Allowance", "Budget", "Call", "DaySpending", "Meter", "OpenCall"],
    "crag.core.origins": [
        *("FAR", "OWN", "handed_sentence", "lacking_sentence", "origin_text", "origin_word", "origins_text"),
    ],
    "crag.core.outgoing": ["MAX_QUERY", "outgoing"],
    "crag.core.policy": [
        *(
            "acted_on",
            "best_chunk",
            "chunks_acted_on",
            "keeps_chunk",
            "loops",
            "refines",
            "searches_web",
            "to_web",
            "uses_documents",
        ),
    ],
    "crag.core.protocols": [
        "Cut",
        *("AnswerReader", "Chat", "Embedder", "Generator", "GradeCache", "Messages", "PageReader", "Parsed", "Refiner"),
        "Contextualizer",
        *(
            "QuestionEmbedder",
            "RerankServer",
            "RetrievalEvaluator",
            "Retriever",
            "Rewriter",
            "SearchCache",
            "StripGrader",
            "StripSelector",
            "Verifier",
            "WebSearch",
        ),
    ],
    "crag.text.sentences": ["ended", "sentences"],
    "crag.core.provider": ["EvaluatorParts", "EvaluatorProvider", "Price", "Provider", "WebParts", "WebProvider"],
    "crag.core.purging": [
        *("Conditions", "Due", "KEEP", "Standing", "add_conditions", "age", "conditions_given", "conditions_of", "due"),
    ],
    "crag.core.settings": ["Settings", "StoredSettings"],
    "crag.core.scope": ["ID", "Scope", "narrowed", "scope_of"],
    "crag.core.syntax": ["clause_of"],
    "crag.core.where": ["Filter", "check", "parse"],
    "crag.text.words": [
        *("FUNCTION_WORDS", "SEARCH_STOP_WORDS", "STOP_WORDS", "UNSPACED", "counted", "stem", "words"),
    ],
    "crag.core.track": ["Track", "tracked"],
    "crag.core.trace": ["Approval", "Rewrite", "Round", "Search", "StepRecord", "Trace"],
    "crag.core.turns": ["Turn", "Turns"],
    "crag.core.types": [
        *("Action", "Aggregation", "Answer", "Chunk", "Citation", "Decision", "Document", "Grade", "INDEXED_AS"),
        *("Disagreement", "FigureCheck", "FromWeb", "Judgement", "Kept", "Reported"),
        *(
            "LineBox",
            "Media",
            "Origin",
            "Passage",
            "Rect",
            "RetrievedChunk",
            "SentenceCheck",
            "Step",
            "Strip",
            "Unread",
        ),
        *("ShortAnswer", "SpanReading", "InjectionSpan", "Verification", "Wanted", "WebPage"),
    ],
    "crag.core.waiting": ["CLOCK", "Clock", "iterate", "wait_for"],
    "crag.core.wording": [
        *(
            "about",
            "addressed_reason",
            "addressed_text",
            "cell_text",
            "context_text",
            "count",
            "decision_sentence",
            "failure_sentence",
            "format_score",
            "instead_sentence",
            "kept_reason",
            "kept_word",
            "left_text",
            "lost_text",
            "outcome_sentence",
            "recognised_text",
            "remark_sentence",
            "scope_text",
            "searched_text",
            "short_text",
            "stored_sentence",
            "unnamed_sentence",
            "unread_sentence",
            "web_origin",
            "why_sentence",
            "words_text",
        ),
    ],
    "crag.core.remarks": [
        *("disagreement_parts", "disagreement_sentence", "figure_sentence", "figures_sentences", "remarkable"),
    ],
    "crag.core.verdicts": [
        *("FOUND", "Fault", "NOTHING_SHOWN", "attributed_sentence", "check_sentence", "fault_of", "objection_sentence"),
    ],
    "crag.engine": ["Engine", "ProviderStatus"],
    "crag.index.milvus": ["MilvusIndex"],
    "crag.evaluation.evaluate": [
        *("Evaluation", "Progress", "add_set", "evaluate", "evaluations", "question_set"),
        *("rows", "spending"),
    ],
    "crag.langchain": [
        *("Correction", "CragCompressor", "CragEmbeddings", "CragMiddleware", "CragRetriever", "CragState", "Problem"),
        *("Score", "Source", "crag_tool", "retriever_of"),
    ],
    "crag.langchain.compressor": ["CragCompressor"],
    "crag.langchain.documents": ["TEXT_CHARS", "as_chunk", "as_chunks", "confidence_of"],
    "crag.langchain.embeddings": ["CragEmbeddings"],
    "crag.langchain.evidence": ["awaited", "documents_of", "question_of"],
    "crag.langchain.retriever": ["CragRetriever"],
    "crag.langchain.stores": ["StoreRetriever", "hits_of", "retriever_of"],
    "crag.telling.chat": ["Harmless", "closing", "opening", "spoken"],
    "crag.telling.handing": ["handed_over"],
    "crag.telling.markdown": ["UNSEEN", "conversation", "escaped", "place", "turn"],
    "crag.evaluator.trigger": ["bounds", "compared", "decide", "verdict"],
    "crag.strategies": ["STRATEGIES", "Strategy", "strategy"],
}


def test_the_public_names_are_these() -> None:
    modules = {name: importlib.import_module(name) for name in PUBLIC}
    listed = {name: sorted(module.__all__) for name, module in modules.items()}
    assert listed == {name: sorted(names) for name, names in PUBLIC.items()}
    assert [name for name, module in modules.items() if not all(hasattr(module, each) for each in module.__all__)] == []


def test_every_module_of_core_is_pinned() -> None:
    import pkgutil

    import crag.core

    assert {f"crag.core.{each.name}" for each in pkgutil.iter_modules(crag.core.__path__)} <= set(PUBLIC)


def loaded_by(statement: str) -> set[str]:
    """The top-level packages in memory after a statement, in a fresh interpreter."""
    program = f"{statement}\nimport sys\nprint(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(found.stdout.split())


HEAVY = {"faiss", "onnxruntime", "tokenizers", "langgraph", "langchain_core", "pdfplumber", "streamlit", "pandas"}


def test_importing_the_package_loads_nothing() -> None:
    assert loaded_by("import crag") & {*HEAVY, "numpy", "pydantic"} == set()


def test_the_command_line_s_help_loads_nothing_heavy() -> None:
    assert loaded_by("import crag.cli.main") & {*HEAVY, "numpy"} == set()


def test_the_engine_runs_without_a_user_interface_or_torch() -> None:
    assert loaded_by("import crag.engine") & {"streamlit", "torch", "matplotlib", "openai", "langgraph"} == set()
