"""The frontier: it decides which URL is fetched next, and when.

frontier      the frontier as the engine uses it
admission     which seeds and links become URLs: those in scope that were not seen before
recent_links  seen URLs that many pages link to, for a faster check
sequencer     which URLs leave the store, and when (isGet)
lifecycle     leads each site to an address, robots.txt and login, and handles failures
preliminary   the requests on that way: robots_step, login_step
address_settings  which addresses may be asked, and how long they are used
rule_sweep    takes queued URLs out that changed rules reject
view          the read-only side of the frontier, for others
saved         the values of the frontier that are saved
sizes         how much is kept in memory and done in one turn

scope/        which URLs are wanted
sites/        what is known of each site, and its queues
addresses/    when the next request to an address may be sent, and for which site

The store and the sets of seen URLs (`storage/`) read and write files in the middle of a
decision. Nothing else here does; nothing has a socket or reads a clock.
"""
