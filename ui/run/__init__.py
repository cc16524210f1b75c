"""One run drawn: path, answer, evidence, pages, meter, files."""
