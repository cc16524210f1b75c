"""Documents, chunks and vectors of one workspace: SQLite is the truth, FAISS its cache."""
