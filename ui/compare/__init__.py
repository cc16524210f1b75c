"""The Compare page: one question answered in several ways, side by side."""
