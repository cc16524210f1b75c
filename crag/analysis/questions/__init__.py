"""Question sets as values: read from files, and what is expected of an answer."""
