"""Revisits: how often each page changes, and when it is worth another visit.

    rate        the change rate of a page, from what its visits found
    plan        intervals that keep the most pages fresh with the visits there are
    schedule    when a page is due next, after a visit
    due         pages that are due, and the question for them
    announced   dates of changes in sitemaps and feeds, and whether they are true
    conditions  the header lines that ask for a page only if it has changed; sites that are wrong
    visits      the pages that were given to the frontier and whose visits the database lacks
    round       which pages are asked for, and when a round is over

All are arithmetic on values: no clock, no socket and no database.
"""
