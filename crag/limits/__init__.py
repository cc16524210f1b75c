"""How much a workspace and the whole server may take, who changed that, what is used, and when an idle one ends."""
