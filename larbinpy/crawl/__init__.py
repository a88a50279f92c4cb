"""The crawl itself: the engine's turn, the assembly of its parts, its control and its end."""
