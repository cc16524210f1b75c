"""People, roles, workspaces, links, quotas, the audit log and backups: who may do what, and how much."""
