"""Bytes to pages to chunks: sandboxed readers by media type, tables and chunking."""
