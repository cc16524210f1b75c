"""How candidates are ranked, and how a query is rewritten."""
