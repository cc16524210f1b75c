"""The words every room of the engine shares: types, events, trace, errors, settings, protocols."""
