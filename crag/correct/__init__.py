"""What corrects a retrieval: knowledge strips, query rewriting and web search."""
