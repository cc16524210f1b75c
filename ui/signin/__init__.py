"""Where people sign in: the page before all others, and the menu of who is there."""
