"""What runs say together: question sets, metrics, what-if, thresholds, comparison, monitoring and gaps."""
