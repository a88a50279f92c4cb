"""The terminal's side: progress of a crawl, the console prompt, answers for people."""
