"""One run: a question through its steps, files into the library, and the parts that do the work."""
