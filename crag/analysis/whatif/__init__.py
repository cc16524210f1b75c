"""Stored runs decided again under other settings, without any model call."""
