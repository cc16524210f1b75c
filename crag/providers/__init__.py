"""Outside services: chat models behind the OpenAI protocol, their keys, their addresses, and what a call costs."""
