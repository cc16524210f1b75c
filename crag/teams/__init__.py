"""Who may use which workspace, how much of it, and what was done: people, links, limits and the audit log."""
