"""Logins: pages that a site shows only to whom it knows.

A method of login is a generator of requests (`exchange`), so nothing here has a socket or a clock.
"""
