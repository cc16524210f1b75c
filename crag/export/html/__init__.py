"""Runs as HTML: the elements, what each part of a run looks like, and pages that replay and present it anywhere."""
