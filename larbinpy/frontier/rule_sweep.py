"""Takes URLs that the rules reject out of the queues in memory, after a change of rules."""

from collections.abc import Callable

from larbinpy.config.rule import Rule
from larbinpy.frontier.lifecycle import SiteLifecycle
from larbinpy.frontier.sizes import DEFAULT_SIZES, FrontierSizes
from larbinpy.url import Url


class RuleSweep:
    """Examines the URLs of all sites, some at each step. URLs in flight are left alone.

    `rejecting` returns the rule that rejects a URL. The URLs of sites that come later are examined
    when they leave the store.
    """

    def __init__(
        self,
        lifecycle: SiteLifecycle,
        rejecting: Callable[[Url], Rule | None],
        sizes: FrontierSizes = DEFAULT_SIZES,
    ) -> None:
        self._lifecycle = lifecycle
        self._rejecting = rejecting
        self._most = sizes.swept
        self._sites_left = list(lifecycle.registry)
        self.over = False

    def __repr__(self) -> str:
        return f"<RuleSweep {len(self._sites_left)} sites>"

    def step(self, now: float) -> None:
        examined = 0
        while self._sites_left and examined < self._most:
            site = self._sites_left.pop()
            # Sites without URLs take time, too.
            examined += 1 + site.held
            if site.held:
                self._lifecycle.reject(site, self._rejecting, now)
        self.over = not self._sites_left
