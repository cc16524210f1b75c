"""What the runs of a program say of it over time: figures, drift, and the metrics that others scrape."""
