"""The frontier: it decides which URL is fetched next, and when.

The life of a URL, by the classes that lead it:

1. A page links to it. `Admission` (`admission`) takes it if it was not seen before, `Scope`
   (`scope`) wants it by depth, area and rules (`rules`), and no guard of `Traps` (`traps`) refuses
   it. A seed is asked for by the operator, so only the first counts.
2. It waits on disk (`storage.queues`) until `Sequencer` (`sequencer`) takes it to its site: while
   memory has room, the isGet gate, and its site has less than its share there.
3. Its site is a `NamedSite` (`site`), which `SiteRegistry` (`sites`) makes and evicts. The first
   URL starts the site on its way: `SiteLifecycle` (`lifecycle`) leads it to an address, and by
   `RobotsStep`, `LoginStep` and `ProbeStep` to its robots.txt, login and probes (`soft404/`). Until
   then the URL waits; it ends here if robots.txt forbids it, or the site is given up.
4. It is ready. Its site takes turns with the others at one `IPSite` (`addresses`), no earlier than
   its `Pace` (`politeness`) permits. `IPSites` (there, too) has the addresses in the order of their
   next requests, and the requests in flight; `Frontier.take` returns the URL that is due.
5. The reply comes back by `Frontier.replied` (`frontier`), with what the intake has judged. A
   failure that may pass sends it back to its site. Otherwise its outcome is decided, and it is owed
   until `Frontier.decided` has given it to the log.

The store and the sets of seen URLs (`storage/`) read and write files in the middle of a
decision. Nothing else here does; nothing has a socket or reads a clock.
"""
