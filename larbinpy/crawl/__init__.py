"""The crawl itself: its parts, the engine's turn, its control and its end.

crawl         a crawl as an object
run           the turns of a crawl, from start to end
assembly      makes the parts of a crawl from its configuration, in five steps: network, the
              frontier, on_disk, ports and the terminal, the engine
participation this process alone, or as a node of a fleet: the assembly asks it where they differ
ports         opens the input port and the status page
engine        one turn after another through all stages
requests      the request for a URL; media_types: which types are fetched
intake        reads fetched pages and takes them to the outputs and the frontier
link_check    requests and replies of checkLinks
own_plug      the plug of the calling program: what it may decide, and its exceptions
housekeeping  the work of each second
saving        when the state is saved
ending        when and why a crawl ends
put_back      URLs of earlier runs that a resume queues again
stopped       looks at a crawl that does not run, for `larbinpy explain`
single        one URL alone, for `larbinpy fetch`

sites/        values that differ from site to site
control/      commands to a running crawl, and the values that they change
resources/    network, files, terminal, clocks
"""
