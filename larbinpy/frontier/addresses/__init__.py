"""The addresses: when the next request to each may be sent, and for which of its sites.

schedule        the schedule of all addresses, and the requests in flight
ip_site         one address
registry        which addresses have something to do
wait_shortener  shortens waits when waitDuration becomes shorter
"""
