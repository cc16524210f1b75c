"""Chunk indexes: what finds chunks by meaning and by words. Each is a cache of a library's records."""
