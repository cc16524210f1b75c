"""What stands around every page."""
