"""The values that differ from site to site.

configs          the configuration of each site, with its blocks put in
settings         its settings for the frontier, and the clock of the hours
request_options  what is sent to it, and on which way
logins           the logins that seeds gave
sessions         the sessions of loginFile; saved_sessions: as a part of the state
login_links      the links that these leave out, for looks at a stopped crawl
login_options    what their logins change in requests
"""
