"""Question sets asked under strategies: the work, its record, and what came of it."""
