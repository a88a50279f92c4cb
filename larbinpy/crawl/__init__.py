"""The crawl itself: its parts, the engine's turn, its control and its end.

crawl         the run from start to exit status
assembly      from a configuration to the parts, in four steps: network, the frontier,
              on_disk, people; resolver: what `larbinpy resolve` needs of that
surroundings  clocks, poller, streams, and sizes that no setting changes
engine        one turn after another through all stages
requests      the request for a URL
intake        the way of a page to reader, output and frontier
mode          what the engine may do now
control       the commands of people
saving        when the state is saved; disk_pause: the wait for room
housekeeping  the work of each second; display: progress and lines
ending        when and why a crawl ends
single        one URL alone, for `larbinpy fetch`
"""
