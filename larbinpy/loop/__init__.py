"""The poll loop's own parts: the poller, the two clocks, signals, and long work in steps."""
