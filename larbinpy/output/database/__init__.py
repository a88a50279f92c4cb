"""Database mode: pages go to a spool, from which a child process fills the content database.

database   the output itself: what goes to the spool, and when the crawl must wait for it
child      the child process: started, watched, and started again
ages       the age of the oldest page that waits
notes      lines for the terminal
"""
