"""User interfaces of a crawl: input port and console, status page, metrics, progress.

text            makes crawled text harmless for terminals, logs and pages
stream          output streams that the reader may close
ports/          the servers, within the crawl
  tcp           the server of both ports: moves bytes, bounds connections and times
  input_port    Larbin's seed protocol and the console
  commands      the commands of the console and of POST /control
  watching      the decided URLs, for `watch`
  http          the status server
  reply         a reply of it, and the security policies
  finder_process    its searches, answered by a child process
  posting       POST /control, for clients with the token
  token         the token
status/         the status pages and metrics: functions of the snapshot
  pages         the pages, and the sections of each
  overview, outcomes, links, queues, system    the sections
  health        the findings: warnings about the crawl
  format, charts, markup, style, script    how values, plots and pages look
  frame         head and navigation of all pages
  metrics       the text of /metrics
search/         the search pages: functions of what a finder answers
  request       query strings of addresses
  form, results, stored    the pages
  reply, replies    the reply to a request
  process       the child process that makes the replies
terminal/       output and clients for terminals
  progress      the bar or lines of a crawl
  fetch_info    a line for each decided URL
  client        the clients of both ports
  prompt, layout    the console, and its answers as text
  log_tail      follows the crawl log
  resolve_input, resolve_output    the names and results of `larbinpy resolve`

Nothing here reaches into the crawl: it shows a snapshot dict and calls commands. The child of
`search/` alone opens the content database.
"""
