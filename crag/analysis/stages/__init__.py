"""What happened to the right passage at each stage of a run."""
