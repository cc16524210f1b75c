"""CRAG Explorer beside the libraries that people install instead: same files, same questions, same machine."""
