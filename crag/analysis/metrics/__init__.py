"""What runs are worth against what was expected of them, each figure with how sure it is."""
