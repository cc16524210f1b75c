"""What an attack costs this build, and what it cost an earlier one: each measured in a process of its own."""
