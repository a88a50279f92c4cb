"""The crawl itself: its parts, the engine's turn, its control and its end.

crawl         a crawl as an object, and its turns from start to end
assembly      makes the parts of a crawl from its configuration and connects them: parts,
              network, resolver, on_disk; asks Alone, or a Fleet, where one process differs
engine        one turn after another through all stages, and the work of each second
mode          what the engine may do: run, pause, stop, wait for room
requests      the configuration of each site; the request for a URL: what is sent, on which way
sessions      the sessions of sites with a login
intake        reads fetched pages and takes them to the outputs and the frontier
link_check    requests and replies of checkLinks
rendering     pages that a browser reads, on their way to it and back
own_plug      the plug of the calling program: what it may decide, and its exceptions
control       commands to a running crawl, the values that they change, and its ports; the answer
              to `explain` about one that does not run
ending        when and why a crawl ends
resumed       what a resumed crawl queues again, and its cookies
revisiting    pages that are due, from the database to the frontier
single        one URL alone, for `larbinpy fetch`; login_trial: one login, for `larbinpy login`
fleet/        a crawl as a node of a fleet
"""
