"""A follow-up question made to stand alone from the conversation so far, by rules or by a chat model."""
