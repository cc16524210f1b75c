"""Where runs of one question differ."""
