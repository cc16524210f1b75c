"""The retrieval evaluator, which scores chunks, and the action trigger, which decides from the scores."""
