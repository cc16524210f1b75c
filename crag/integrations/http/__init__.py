"""The engine as an HTTP server for programs: what `crag serve` runs."""
