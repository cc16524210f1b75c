"""The vocabulary of the engine: types, documents, events, trace, errors, settings, configuration, protocols."""

__version__ = "0.1.0"
