"""The Tune page: all stored runs decided anew as sliders move."""
