"""What the runs of a program say of it over time: figures, and the metrics that others scrape."""
