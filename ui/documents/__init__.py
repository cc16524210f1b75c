"""The Documents page: adding files, the table, a document opened on its pages."""
