"""The Monitor page: what the runs say over time, whether they have drifted, and the runs behind every mark."""
