"""The sets of the train folder: what is read of each, how much of it an epoch has, and how it is split."""

from corpora.sources.mix import LEFT_OUT, MIX, Sources
from corpora.sources.stored import digest

__all__ = ["LEFT_OUT", "MIX", "Sources", "digest"]
