"""What outside calls take and cost."""
