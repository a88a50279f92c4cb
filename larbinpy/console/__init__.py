"""People looking in: the input port and console, the status page, metrics and progress.

tcp         the server both ports are made of: moves bytes, bounds everything
input_port  Larbin's seed protocol and the console
commands    the verbs of the console and of POST /control, in steps
watching    fates as they are decided, for those who watch
http        the status server: metrics makes its text, pages its HTML of
            overview, fates, places, inside: the sections, each a function of the snapshot
            health, reasons, figures: what they say; charts, markup: how
            style, script: what lies in each page
posting     POST /control, for who has the token
progress    the bar or the lines on the terminal that started the crawl
client      the other end of both ports, for the commands that talk to a running crawl
prompt      the console's other end; answers lays out for people what it is told
text        crawled text made harmless for terminals, logs and pages

Nothing here reaches into the crawl: a snapshot dict is shown, and verbs are called.
"""
