"""One module a side: what its user writes to add files and to search them. Nothing else of the benchmark is in it."""
