"""The Tune page: all stored runs decided again as sliders move."""
