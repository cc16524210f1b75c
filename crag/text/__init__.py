"""Words and sentences: where they begin and end, what stands for them, and which of them matter."""
