"""How the crawl keeps its state on disk: whole files, queues, the seen set, checkpoints."""
