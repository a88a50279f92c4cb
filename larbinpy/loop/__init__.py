"""The poll loop's own parts: poller, clocks, signals, long work in steps, and slices of a turn."""
