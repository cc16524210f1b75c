"""The engine as a server of the Model Context Protocol: what `crag mcp` runs."""
