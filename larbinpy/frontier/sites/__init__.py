"""The sites: what is known of each scheme, host and port, and its queues.

named_site    one site and its queues; states: its states, as a table
registry      which sites are in memory; evicted: what is kept of others
settings      what site blocks decide, and the limits of a site
hours         whether requests may be sent to a site now
politeness    how the delay between two requests adapts
name_requests the sites that wait for an address
robots_rules  the rules of robots.txt in force; robots_cache: robots.txt, compressed
busiest       the sites that the status page shows
"""
