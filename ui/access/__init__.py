"""Who is at a browser tab, which workspace it shows, and what they may do and choose there."""
