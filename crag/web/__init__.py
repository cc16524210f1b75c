"""The web: search providers, a folder of pages in its place, and pages fetched under guard."""
