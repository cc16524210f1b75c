"""The retrieval evaluators, the action trigger, and what corrects a retrieval: knowledge strips and their filter."""
