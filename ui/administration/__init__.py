"""The page of who runs the program: people, workspaces, and the audit log."""
