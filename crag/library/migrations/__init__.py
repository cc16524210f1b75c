"""How a library's tables changed from version to version: Alembic's environment, and a revision each."""
