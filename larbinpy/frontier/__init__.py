"""The frontier: it decides which URL is fetched next, and when.

The life of a URL, by the classes that lead it:

frontier      `Frontier`, as the engine uses it; what of it is saved
scope         `Scope`: may the crawl want it? By depth, domain and the area around the seeds,
              rules (`rules`) and guards against traps (`traps`)
admission     `Admission`: was it seen before? Else it goes to the store (`storage.queues`)
sequencer     `Sequencer` takes it from there while the isGet gate is open
site          `NamedSite`: the queue of its scheme, host and port; its states and robots.txt
lifecycle     `SiteLifecycle` leads the site to an address, robots.txt and login, by requests of
              its own (`steps`), and handles failures
politeness    `SiteSettings` and the delay between two requests to one site
sites         `SiteRegistry`: the sites in memory, and what is kept of others
addresses     `IPSite`: when the next request to one address may be sent, and for which site
schedule      `IPSites`: all addresses, and the requests in flight

The store and the sets of seen URLs (`storage/`) read and write files in the middle of a
decision. Nothing else here does; nothing has a socket or reads a clock.
"""
