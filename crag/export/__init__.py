"""A run for readers: the slides of a presentation, and an answer or a conversation as Markdown with footnotes."""
