"""The Search page: what a browser asks of the content database, as pages and as JSON.

form       the query string of an address as values, and back; the form and frame of all pages
results    the hits of a query; the stored page of a hit
replies    the replies to requests, from a Finder; the changes of the database, also as a feed; the
           process that makes them, apart from the loop of the crawl

`form` is used by the status server, too, and needs no database.
"""
