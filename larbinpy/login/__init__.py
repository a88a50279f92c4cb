"""Logins: pages that a site shows only to whom it knows.

spec      a login as loginFile has it; secrets
exchange  the requests of a login and their replies
file      reads loginFile
methods/  the methods, each a generator of requests
session   when to log in, and what to fetch again
judge     whether a page is one of a session: markers, the addresses of login pages; links that end
          a session, by their words

A method of login is a generator of requests, so nothing here has a socket or a clock.
"""
