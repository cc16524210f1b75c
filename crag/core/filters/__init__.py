"""The filter language over document fields: grammar, clauses, scope."""
