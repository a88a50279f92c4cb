"""User interfaces of a crawl: input port and console, status page, metrics, progress.

text            crawled text made harmless; output streams that the reader may close
ports/          the servers, within the crawl
  tcp           the server of both ports: moves bytes, bounds connections and times
  input_port    Larbin's seed protocol and the console
  commands      the commands of the console and of POST /control; `watch`
  http          the status server, and POST /control
  reply         a reply of it, the security policies, and the token
  finder_process    its searches, answered by a child process
status/         the status pages and metrics: functions of the snapshot
  pages         the pages, and the sections of each
  overview      the sections of the overview, and plots
  markup        how values and pages look, with style sheet, script and icon
  metrics       the text of /metrics
search/         the search pages: functions of what a finder answers
  form          query strings of addresses; the frame of all pages
  results, stored    the pages
  replies       the reply to a request
  process       the child process that makes the replies
terminal/       output and clients for terminals
  progress      the bar or lines of a crawl
  client        the clients of both ports; follows the crawl log
  prompt, layout    the console, and its answers as text

Nothing here reaches into the crawl: it shows a snapshot dict and calls commands. The child of
`search/` alone opens the content database.
"""
