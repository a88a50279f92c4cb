"""Which URLs are wanted.

scope         the rules and the other keywords that bound a crawl
rules         the ordered rules (accept, reject); url_patterns: many patterns at once
live_rules    rules added and dropped on the console
seed_area     the hosts and folders of the seeds, for stay and lockSite
folding       links without dropped parameters
traps         guards against spider traps
"""
