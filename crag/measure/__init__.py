"""Metrics and what-if: everything that is computed from stored traces without a model call."""
