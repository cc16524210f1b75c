"""Bytes to pages to chunks: the sandboxed PDF reader, tables, web pages and chunking."""
