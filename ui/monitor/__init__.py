"""The Monitor page: what the runs say over time, and the runs behind every mark."""
