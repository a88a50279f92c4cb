"""The servers that a running crawl listens on: input port, console and HTTP."""
