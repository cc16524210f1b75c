"""What a provider is: one record of all that is known of a service, read by everything that offers or uses it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pydantic import SecretStr

from crag.core.errors import SettingsError

if TYPE_CHECKING:
    from crag.core.protocols import Chat, PageReader, RerankServer, RetrievalEvaluator, WebSearch
    from crag.runtime.usage import UsageTracker

HIGHEST = 1_000_000.0
"""US dollars; a price above this is a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens in and out, and for one call whatever its size (web searches).

    Raises SettingsError for a number that is negative, not finite, or above a million.
    """

    input: float = 0.0
    output: float = 0.0
    call: float = 0.0

    def __post_init__(self) -> None:
        for number in (self.input, self.output, self.call):
            if not (math.isfinite(number) and 0 <= number <= HIGHEST):
                raise SettingsError(f"{number:g} is no price.", "Prices are US dollars from 0 to a million.")

    @property
    def by_token(self) -> bool:
        """Whether what a call costs depends on its tokens."""
        return self.input > 0 or self.output > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A service, or what stands in for one on this machine. Raises ValueError for a record that can't be one.

    `name` stands in the configuration, on the meter and in the history; `title` and `about` (one sentence: what goes
    where) are for people, `phrase` is the title inside a sentence where it is another.

    `address` is the setting that holds where it is: for a `server` it must be given, and may be limited to those that
    are allowed; for the others it is another address than `home`, their own host. `example` shows its form.

    `key` is the slot of its key, CRAG_<KEY>_KEY in the environment; what `variables` hold is for it alone.
    """

    name: str
    title: str
    about: str
    phrase: str = ""
    leaves: bool = True
    home: str = ""
    address: str = ""
    server: str = ""
    """What its server is called, for "The model server has no address."; empty where it is no server of a person's."""
    example: str = ""
    key: str = ""
    key_needed: bool = False
    variables: tuple[str, ...] = ()
    price: Price | None = None

    def __post_init__(self) -> None:
        texts = (self.name, self.title, self.about, self.phrase, self.home, self.address, self.server, self.key)
        if not all(isinstance(each, str) for each in (*texts, *self.variables)):
            raise ValueError("a provider's record holds texts")
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", self.name) or not self.title.strip():
            raise ValueError(f"{self.name!r} is no name of a provider: small letters, digits and -, and a title")
        if self.address and not re.fullmatch(r"[a-z][a-z0-9_]*_base_url", self.address):
            raise ValueError(f"{self.address!r} is no setting for an address: it ends in _base_url")
        if self.price is not None and not isinstance(self.price, Price):
            raise ValueError("a price is a Price")


@dataclass(frozen=True, slots=True, kw_only=True)
class WebParts:
    """What a web provider is made from. `fetcher` reads pages behind results; None: their short text is all.

    `address`: where it is, empty for its own home. `folder`: the saved pages of this machine, if there are any.
    """

    meter: UsageTracker
    fetcher: PageReader | None = None
    key: SecretStr | None = None
    address: str = ""
    folder: WebSearch | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebProvider(Provider):
    """A web provider. `make` gives it to one run."""

    make: Callable[[WebParts], WebSearch]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorParts:
    """What an evaluator is made from: the run's meter, the local evaluator, and what its record says that it needs."""

    meter: UsageTracker
    local: RetrievalEvaluator
    chat: Chat | None = None
    reranker: RerankServer | None = None
    key: SecretStr | None = None
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatorProvider(Provider):
    """An evaluator. `needs` the run's language model, a reranking server, or neither.

    `calls`: the outside calls that it takes, one for each chunk, one for a whole retrieval, or none. `checks` makes
    what checks an answer's sentences; None: the same.
    """

    make: Callable[[EvaluatorParts], RetrievalEvaluator]
    checks: Callable[[EvaluatorParts], RetrievalEvaluator] | None = None
    needs: Literal["nothing", "model", "reranker"] = "nothing"
    calls: Literal["none", "chunk", "retrieval"] = "none"
