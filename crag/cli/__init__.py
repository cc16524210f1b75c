"""The command line: one module a command, the same engine as the app, a good citizen of a shell."""
