"""A run told to people: the scenes of a presentation, and an answer or a conversation as Markdown with footnotes."""
