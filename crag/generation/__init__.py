"""Answers from the knowledge that was kept, their citations, and the check of those citations."""
