"""Stored runs decided anew under other settings, without any model call."""
