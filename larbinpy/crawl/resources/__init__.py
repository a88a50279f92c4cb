"""The resources of a crawl, which are opened before its first turn.

network       fetcher and resolver; resolver: the resolver alone, for `larbinpy resolve`
logins        the logins of loginFile
on_disk       the outputs, the crawl log and the saved state
display       progress and messages on the terminal
surroundings  clocks, poller, streams, and sizes that no setting changes
"""
