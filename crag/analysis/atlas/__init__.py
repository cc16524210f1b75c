"""A library as points in the plane."""
