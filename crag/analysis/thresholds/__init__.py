"""Where labels say the thresholds should be, how surely, and why."""
