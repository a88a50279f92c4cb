"""The poll loop's own parts: poller, clocks, signals, long work in steps, slices of a turn,
and child processes."""
