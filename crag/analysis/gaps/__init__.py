"""What a library could not answer, and how such a gap is closed: questions grouped by likeness, web pages kept."""
