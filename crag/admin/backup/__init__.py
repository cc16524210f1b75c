"""Backups: all that is stored, in one file, and the way back. Taken while the app runs; restored whole or not."""
