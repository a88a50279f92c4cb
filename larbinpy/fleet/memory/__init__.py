"""A vault in memory, for tests and simulations: an engine, and connections that can fail."""
