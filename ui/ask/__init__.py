"""The Ask page: the conversation, a run followed live, the first minute."""
