"""The Search page: what a browser asks of the content database, as pages and as JSON.

request    the query string of an address as values, and back
form       the form, the frame of these pages, and pages with a message only
results    the hits of a query
stored     the stored page of a hit
changes    the changes of the database
feed       the changes as an Atom feed
reply      a reply, and the one with a message only
replies    the replies to requests, from a Finder
process    the process that makes the replies, apart from the loop of the crawl

`request`, `form` and `reply` are used by the status server, too, and need no database.
"""
