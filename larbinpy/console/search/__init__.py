"""The Search page: what a browser asks of the content database, as pages and as JSON.

asked      the query string of an address as values, and back
form       the form, the frame of these pages, and pages with a message only
results    the hits of a query
stored     the stored page of a hit
replies    the reply to a request, from a Finder
process    the process that makes the replies, apart from the loop of the crawl

`form` and `asked` are used by the status server, too, and need no database.
"""
