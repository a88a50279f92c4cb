"""Revisits: how often each page changes, and when it is worth another visit.

    rate    the change rate of a page, from what its visits found
    plan    intervals that keep the most pages fresh with the visits there are

Both are arithmetic on values: no clock, no socket and no database.
"""
