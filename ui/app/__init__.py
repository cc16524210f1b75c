"""The running program: its engine and jobs, workspaces, sessions, keys, and the way between pages."""
