"""The poll loop's own parts: poller, clocks with long work in steps and slices of a turn, signals,
and child processes.
"""
