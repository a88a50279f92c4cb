"""The crawl itself: its parts, the engine's turn, its control and its end.

crawl         a crawl as an object
run           the turns of a crawl, from start to end
assembly      makes the parts of a crawl from its configuration, in five steps: network, the
              frontier, on_disk, ports and the terminal, the engine
network       fetcher and resolver; resolver: the resolver alone, for `larbinpy resolve`
on_disk       the outputs, the crawl log and the saved state
ports         opens the input port and the status page
surroundings  clocks, poller, streams, and sizes that no setting changes
site_configs  the configuration of each site, with its blocks put in; site_book: its settings for
              the frontier, and the clock of the hours
engine        one turn after another through all stages
requests      the request for a URL; request_options: what is sent to each site, and on which way
logins        the logins that seeds gave
own_plug      the plug of the calling program: what it may decide, and its exceptions
link_check    requests and replies of checkLinks
media_types   which media types are fetched
intake        reads fetched pages and takes them to the outputs and the frontier
mode          what the engine may do now
control       the commands of the console
searches      the share of searches on the disk in the turns
saving        when the state is saved
disk_pause    the pause while the disk is full
housekeeping  the work of each second
display       progress and messages on the terminal
ending        when and why a crawl ends
stopped       looks at a crawl that does not run, for `larbinpy explain`
single        one URL alone, for `larbinpy fetch`
"""
