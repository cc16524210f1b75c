"""A run for readers: the scenes of a presentation, and an answer or a conversation as Markdown with footnotes."""
