"""Revisits: how often each page changes, and when it is worth another visit.

    plan    the change rate of a page, from what its visits found; intervals that keep the most
            pages fresh; when a page is due; dates that sites announce, and whether they are true
    round   which pages that are due are asked for, on which conditions, and when a round is over

All are arithmetic on values: no clock, no socket and no database.
"""
