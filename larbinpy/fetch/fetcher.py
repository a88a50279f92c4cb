"""The pool of transfers: one CurlMulti, driven by readiness on the one epoll.

libcurl reports by two callbacks which sockets it waits for and when it wants to be called;
`socket_action` does the rest. Neither callback may raise (libcurl would abort every transfer),
and handles are added and removed only outside of them.

There are two clocks: libcurl's own, for connecting, and the engine's `now`, for the time of a
page. libcurl's timer is relative, and takes effect from the next `step`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import TypeVar

import pycurl

from larbinpy.fetch import options
from larbinpy.fetch.brake import Brake, NoBrake, bytes_received
from larbinpy.fetch.cookies import Jar, Jars, NoJar
from larbinpy.fetch.options import (
    FetchSettings,
    Request,
    RequestOptions,
    by_proxy,
    concise,
    meaning,
)
from larbinpy.fetch.transfer import Attempt, RawExchange, Transfer, ending_of, is_of_use
from larbinpy.loop.poller import READ, WRITE, Poller
from larbinpy.page import Outcome, Page

# Seconds between two checks for pages that have timed out; timeouts are tens of seconds.
_SWEEP = 1.0

# A server that sends packets with hardly any bytes of a page between two checks, such as frames of
# HTTP/2 that change a window, takes up the processor: an event of a socket takes 0.1 to 0.2 ms.
_MANY_EVENTS = 300
_BYTES_AN_EVENT = 16

# Each handle may have one idle connection besides the one in use. More would cost descriptors and
# gain little, because servers close idle connections after some seconds.
CONNECTIONS_PER_HANDLE = 2

_DETAIL = 200

#: Outcomes of replies that began, and did not end as they should.
_BROKEN = frozenset({Outcome.EARLY_STOP, Outcome.TIMEOUT})
#: Outcomes after which a site may be asked in another way.
_ADAPTED = frozenset({Outcome.EARLY_STOP, Outcome.BAD_TLS})
#: Begins the detail of a page whose reply always ends early.
CUT_TWICE = "the server ends it early, twice at the same byte"


T = TypeVar("T")


class Fetcher:
    """A fixed number of handles, each free or busy with one request.

    Invariant, asserted after each step: free + busy == size, where a handle is busy iff it has a
    transfer. A request ends once, in the list that `step` returns or with `abort`. Sockets,
    timer, handles and transfers are in one class because all of them take part in that.

    A page whose Content-Encoding libcurl cannot decode, or whose head it refuses, fails as
    earlyStop and is `misread`. When it is requested again, no coding is offered, and `transfer`
    decodes what comes; or a `RawExchange` reads the reply. So does a page whose body is cut off.
    If it is cut off at the same byte again, the server always does so, and the body is the page.

    A site whose HTTP/2 fails is asked by HTTP/1.1 from then on, and one that chooses DHE with a
    weak group, without it.
    """

    def __init__(
        self,
        poller: Poller,
        settings: FetchSettings,
        *,
        new_handle: Callable[[], pycurl.Curl] = pycurl.Curl,
    ) -> None:
        self._poller = poller
        self._settings = settings
        self._common = options.common(settings)
        self._multi = pycurl.CurlMulti()
        self._multi.setopt(pycurl.M_SOCKETFUNCTION, self._on_socket)
        self._multi.setopt(pycurl.M_TIMERFUNCTION, self._on_timer)
        self._new_handle = new_handle
        make_jar = partial(Jar, settings.most_cookies, settings.cookie_file)
        #: The cookies of all handles, and those of sites with a login.
        self.jars = Jars(make_jar() if settings.use_cookies else NoJar(), make_jar)
        self._busy: dict[pycurl.Curl, Transfer] = {}
        # Exchanges that libcurl does not read, with the descriptors of those that have begun; and
        # those that have ended, with libcurl's error and its message.
        self._raw: dict[pycurl.Curl, RawExchange] = {}
        self._descriptors: dict[pycurl.Curl, int] = {}
        self._ended: list[tuple[pycurl.Curl, int, str]] = []
        # Handles whose requests are known, and whose replies libcurl has yet to keep silent about.
        self._known: list[pycurl.Curl] = []
        # Pages whose requests could not be made; the next step returns them.
        self._unmade: list[Page] = []
        self._free: list[pycurl.Curl] = []
        # The options of the last request of each handle.
        self._options: dict[pycurl.Curl, RequestOptions] = {}
        self._size = 0
        # What is changed in the options of some sites, and the options that come of that.
        self._manners: dict[str, options.Changes] = {}
        self._changed = lru_cache(1000)(_changed)
        # The last attempts whose replies were broken.
        self._broken: dict[str, Attempt] = {}
        self._timer_ms: int | None = None
        self._timer_at: float | None = None
        self._sweep_at = 0.0
        # Events of each socket since the last check.
        self._events: defaultdict[int, int] = defaultdict(int)
        self._now = 0.0
        self._brake = NoBrake(self._multi)
        self.resize(settings.handles)
        self.limit(settings.bond_width, 0.0)

    def __repr__(self) -> str:
        return f"<Fetcher {self.busy} of {self._size} busy, {self._brake.held} held back>"

    @property
    def size(self) -> int:
        return self._size

    @property
    def most(self) -> int:
        """The most handles that `resize` allows."""
        return self._settings.most_handles

    @property
    def free(self) -> int:
        return max(self._size - len(self._busy), 0)

    @property
    def busy(self) -> int:
        """Requests whose pages are still to come."""
        return len(self._busy) + len(self._unmade)

    @property
    def deadline(self) -> float | None:
        """When to call `step` next, even if no socket is ready; None for never."""
        if self._timer_ms is not None or self._unmade or self._ended:
            return self._now
        times = (self._timer_at, self._sweep_at if self._busy else None, self._brake.deadline)
        return min((at for at in times if at is not None), default=None)

    def start(self, request: Request, now: float) -> None:
        """Begin to fetch; requires a free handle.

        A request with a value that libcurl refuses ends in the next step, as noConnection.
        """
        assert self.free > 0, self
        curl = self._free.pop()
        if self._manners and request.url.site in self._manners:
            changes = self._manners[request.url.site]
            request.options = self._changed(request.options, changes)
        transfer = Transfer(request, now)
        try:
            if self._options.get(curl) is not request.options:
                self._adopt(curl, request.options)
            transfer.earlier = self._broken.pop(request.url.href, None)
            earlier = transfer.earlier
            leniency = 0 if earlier is None else options.leniency_after(request, earlier.code)
            is_raw = leniency == options.WEIRD_SERVER_REPLY
            transfer.coded = is_raw or leniency in options.UNDECODED
            options.single(curl.setopt, request, leniency)
            if request.url.spelling:
                self._options.pop(curl)
        except (ValueError, pycurl.error) as error:
            self._options.pop(curl, None)
            self._free.append(curl)
            why = printable_detail(f"the request cannot be made: {error}")
            self._unmade.append(Page(request.url, Outcome.NO_CONNECTION, detail=why))
            return
        if is_raw:
            jar = self.jars.find(request.options.jar)
            cookies = jar.cookies_for(request.url)
            taker = jar.noting(transfer, raw=True)
            self._raw[curl] = RawExchange(curl, transfer, taker, cookies)
        self._listen(curl, transfer)
        if self._settings.keep_requests:
            curl.setopt(pycurl.VERBOSE, 1)
            curl.setopt(pycurl.DEBUGFUNCTION, partial(self._told, curl, transfer))
        if not self._busy:
            self._now = now
            self._sweep_at = now + _SWEEP
        self._busy[curl] = transfer
        self._brake.begin(curl)

    def step(self, now: float) -> list[Page]:
        """Process all that is due by `now`; return the pages that ended since the last step."""
        self._run_timer(now)
        if self._known:
            self._hush()
        self._brake.release(now, now - self._now)
        self._now = now
        pages, self._unmade = self._unmade, []
        pages += self._collect()
        pages += self._expire(now)
        self.jars.tend()
        assert len(self._free) + len(self._busy) == max(self._size, len(self._busy)), self
        return pages

    def stood_still(self, seconds: float) -> None:
        """This process did not run for so long; no transfer that was under way is to blame."""
        for transfer in self._busy.values():
            transfer.stood += seconds

    def abort(self) -> None:
        """Abort all transfers; `step` does not return them."""
        self._unmade.clear()
        self._ended.clear()
        self._known.clear()
        for curl in list(self._busy):
            self._return(curl)

    def resize(self, handles: int) -> None:
        """Set the number of handles, `most` at most; surplus busy ones close once they are free."""
        self._size = handles = min(handles, self.most)
        while len(self._free) < self.free:
            self._free.append(self._handle())
        while len(self._free) > self.free:
            self._close(self._free.pop())
        # If this were less than the number in flight, libcurl would search its pool after each
        # transfer.
        self._multi.setopt(pycurl.M_MAXCONNECTS, handles * CONNECTIONS_PER_HANDLE)

    def limit(self, rate: float, now: float) -> None:
        """Receive at most `rate` bytes per second for all transfers together; 0: no limit."""
        before = self._brake
        none = NoBrake(self._multi)
        self._brake = Brake(self._multi, self._busy, rate, now) if rate > 0 else none
        for curl, transfer in self._busy.items():
            self._listen(curl, transfer)
        before.lift()

    def close(self) -> None:
        """Close all transfers, idle connections and handles."""
        self.abort()
        self._multi.close()
        while self._free:
            self._close(self._free.pop())
        self._size = 0
        self.jars.close()

    # -- libcurl's two callbacks, and the calls they ask for --

    def _on_socket(self, what: int, fd: int, *_rest: object) -> None:
        if what in (pycurl.POLL_REMOVE, pycurl.POLL_NONE):
            # A hang-up would be reported even for a socket without events.
            self._poller.unregister(fd)
            return
        events = (READ if what & pycurl.POLL_IN else 0) | (WRITE if what & pycurl.POLL_OUT else 0)
        try:
            self._poller.register(fd, events, self._on_ready)
        except OSError:
            # The kernel refuses another descriptor; this transfer ends by its timeout.
            self._poller.unregister(fd)

    def _on_timer(self, milliseconds: int, *_rest: object) -> None:
        self._timer_ms = milliseconds

    def _told(self, curl: pycurl.Curl, transfer: Transfer, kind: int, data: bytes) -> None:
        """Take libcurl's debug output, up to the head of the request if that is the only one."""
        transfer.debug(kind, data)
        if kind == pycurl.INFOTYPE_HEADER_OUT and not options.may_ask_again(data, transfer.request):
            self._known.append(curl)

    def _hush(self) -> None:
        """End the debug output of requests that are known: it has the replies, piece by piece."""
        while self._known:
            self._known.pop().setopt(pycurl.VERBOSE, 0)

    def _on_ready(self, fd: int, events: int) -> None:
        mask = pycurl.CSELECT_IN if events & READ else 0
        mask |= pycurl.CSELECT_OUT if events & WRITE else 0
        self._events[fd] += 1
        self._multi.socket_action(fd, mask)
        self._brake.apply()

    def _run_timer(self, now: float) -> None:
        self._adopt_timer(now)
        if self._timer_at is not None and now >= self._timer_at:
            self._timer_at = None
            self._multi.socket_action(pycurl.SOCKET_TIMEOUT, 0)
            self._adopt_timer(now)
            self._brake.apply()

    def _adopt_timer(self, now: float) -> None:
        if self._timer_ms is not None:
            self._timer_at = now + self._timer_ms / 1000 if self._timer_ms >= 0 else None
            self._timer_ms = None

    # -- the end of a transfer --

    def _collect(self) -> list[Page]:
        pages = []
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            for curl in done:
                if curl in self._raw:
                    self._begin_raw(curl)
                else:
                    pages.append(self._finish(curl, pycurl.E_OK, ""))
            pages += [self._finish(curl, code, message) for curl, code, message in failed]
        while self._ended:
            pages.append(self._finish(*self._ended.pop()))
        return pages

    def _begin_raw(self, curl: pycurl.Curl) -> None:
        fd = self._descriptors[curl] = curl.getinfo(pycurl.ACTIVESOCKET)
        self._poller.register(fd, READ | WRITE, lambda fd, _: self._on_raw_ready(curl, fd))

    def _on_raw_ready(self, curl: pycurl.Curl, fd: int) -> None:
        exchange = self._raw[curl]
        end = exchange.go_on()
        if end is None:
            self._poller.modify(fd, READ | WRITE if exchange.waits_to_write else READ)
        else:
            self._poller.unregister(fd)
            self._ended.append((curl, *end))

    def _expire(self, now: float) -> list[Page]:
        if now < self._sweep_at:
            return []
        self._sweep_at = now + _SWEEP
        late = [curl for curl, transfer in self._busy.items() if transfer.overdue(now)]
        why = "longer than timeoutPage"
        pages = [self._finish(curl, pycurl.E_OPERATION_TIMEDOUT, why) for curl in late]
        why = "a flood of packets with hardly any content"
        return pages + [self._finish(curl, pycurl.E_RECV_ERROR, why) for curl in self._flooded()]

    def _flooded(self) -> list[pycurl.Curl]:
        """The handles whose sockets had many events since the last check, and few bytes of a page.

        What counts are bytes of headers and of the decoded body.
        """
        least = {fd: n * _BYTES_AN_EVENT for fd, n in self._events.items() if n > _MANY_EVENTS}
        self._events.clear()
        news = {curl: transfer.news() for curl, transfer in self._busy.items()}
        if not least:
            return []
        # Several transfers may share a connection.
        on: defaultdict[int, list[pycurl.Curl]] = defaultdict(list)
        for curl in self._busy:
            on[curl.getinfo(pycurl.ACTIVESOCKET)].append(curl)
        floods = (
            curls
            for fd, curls in on.items()
            if sum(news[curl] for curl in curls) < least.get(fd, 0)
        )
        return [curl for curls in floods for curl in curls]

    def _finish(self, curl: pycurl.Curl, code: int, message: str) -> Page:
        transfer = self._busy[curl]
        request = transfer.request
        # The next transfer on this socket begins without events.
        self._events.pop(curl.getinfo(pycurl.ACTIVESOCKET), None)
        failed = code != pycurl.E_OK
        unanswered = not transfer.status
        failure = _failure(curl, request, code, message, unanswered) if failed else (None, "")
        page = transfer.page(*failure)
        page.detail = printable_detail(page.detail)
        intended = request.options.proxy_address or request.address.strip("[]")
        page.ip = curl.getinfo(pycurl.PRIMARY_IP) or intended
        page.ms = round(max(curl.getinfo(pycurl.TOTAL_TIME) * 1000, 0))
        exchange = self._raw.get(curl)
        if code == pycurl.E_OPERATION_TIMEDOUT or exchange is not None:
            page.ms = max(page.ms, round((self._now - transfer.started) * 1000))
        page.first_byte_ms = round(curl.getinfo(pycurl.STARTTRANSFER_TIME) * 1000)
        page.received = bytes_received(curl) if exchange is None else exchange.received
        self._brake.charge(curl, page.received)
        if page.outcome in _BROKEN:
            known = options.about_framing(code, page.detail)
            self._weigh(page, known, transfer.earlier)
        if failed and page.outcome in _ADAPTED:
            by_two = curl.getinfo(pycurl.INFO_HTTP_VERSION) == pycurl.CURL_HTTP_VERSION_2_0
            changes = options.milder(code, message, by_two=by_two)
            if changes:
                # Asked in another way, it may reply at once.
                page.misread = not options.asks_for_calm(message)
            elif unanswered and page.url.href.startswith("https:"):
                changes = options.unanswered(code, request.options)
            self._adapt(page, changes)
        if transfer.stood:
            page.first_byte_ms = max(page.first_byte_ms - round(transfer.stood * 1000), 0)
            page.misread = page.misread or (failed and page.outcome is not Outcome.SUCCESS)
        self._return(curl)
        return page

    def _adapt(self, page: Page, changes: options.Changes) -> None:
        """Ask a site in another way from now on, if there are `changes`."""
        if changes:
            known = self._manners.get(page.url.site, ())
            _put(self._manners, page.url.site, known + changes, self._settings.most_broken)

    def _weigh(self, page: Page, code: int, earlier: Attempt | None) -> None:
        """Take a body that ends where it did before as the page; remember what may come again."""
        ending, stalled = ending_of(page), page.outcome is Outcome.TIMEOUT
        is_same = earlier is not None and ending is not None and ending == earlier.ending
        if is_same and is_of_use(page.body, stalled=stalled):
            page.outcome, page.misread = Outcome.SUCCESS, False
            page.detail = f"{CUT_TWICE}: {page.detail}"
            return
        is_lenient = code in options.LENIENCY
        if is_lenient:
            page.detail = page.detail or "its packed content is damaged, or more follows it"
        if is_lenient or (ending is not None and earlier is None and not stalled):
            page.misread = True
        if is_lenient or ending is not None:
            code = code if is_lenient or earlier is None else earlier.code
            most = self._settings.most_broken
            _put(self._broken, page.url.href, Attempt(code, ending), most)

    def _return(self, curl: pycurl.Curl) -> None:
        self._raw.pop(curl, None)
        if curl in self._descriptors:
            self._poller.unregister(self._descriptors.pop(curl))
        self._brake.end(curl)
        del self._busy[curl]
        if len(self._free) < self.free:
            self._free.append(curl)
        else:
            self._close(curl)

    def _handle(self) -> pycurl.Curl:
        curl = self._new_handle()
        self.jars.common.hand(curl)
        return curl

    def _adopt(self, curl: pycurl.Curl, chosen: RequestOptions) -> None:
        """Replace all options of a free handle; connections stay, and its jar if it is the same."""
        curl.reset()
        self.jars.hand(curl, chosen.jar)
        for option, value in (*self._common, *options.shared(chosen)):
            curl.setopt(option, value)
        self._options[curl] = chosen

    def _close(self, curl: pycurl.Curl) -> None:
        self._options.pop(curl, None)
        self.jars.forget(curl)
        curl.close()

    def _listen(self, curl: pycurl.Curl, transfer: Transfer) -> None:
        """Pass the reply to `transfer`, by way of jar and brake."""
        header = self.jars.find(transfer.request.options.jar).noting(transfer)
        curl.setopt(pycurl.HEADERFUNCTION, self._brake.noting(curl, header))
        curl.setopt(pycurl.WRITEFUNCTION, self._brake.noting(curl, transfer.write))


def _failure(
    curl: pycurl.Curl, request: Request, code: int, message: str, unanswered: bool
) -> tuple[Outcome, str]:
    """The outcome of libcurl's error, and its reason; `unanswered`: no reply has begun."""
    os_errno = curl.getinfo(pycurl.OS_ERRNO)
    failure, reason = meaning(code, message, os_errno), concise(code, message, os_errno)
    given = request.options
    if given.proxy_url and unanswered:
        tunnel, login = curl.getinfo(pycurl.HTTP_CONNECTCODE), bool(given.proxy_login)
        reason = by_proxy(given.proxy_url, code, reason, tunnel=tunnel, login=login)
    return failure, reason


def _changed(chosen: RequestOptions, changes: options.Changes) -> RequestOptions:
    return replace(chosen, **dict(changes))


def _put(memory: dict[str, T], key: str, value: T, most: int) -> None:
    """Remember a value, and forget the oldest if there are more than `most`."""
    memory[key] = value
    if len(memory) > most:
        del memory[next(iter(memory))]


def printable_detail(message: str) -> str:
    """libcurl's error message, which may quote the server, as one short printable line."""
    message = message[:_DETAIL]
    if message.isprintable():
        return message
    return "".join(char if char.isprintable() else "?" for char in message)
