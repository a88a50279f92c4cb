"""Which addresses a crawl may ask, and how long it uses them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from larbinpy.url import port_of


@dataclass(slots=True, frozen=True)
class AddressSettings:
    """The configuration of addresses."""

    #: How long an address is used before it is looked up again (s).
    time: float
    #: Whether requests may be sent to an address at all (allowPrivate).
    permit: Callable[[str], bool]
    #: Whether a server that the crawl itself relies on is at an address and port.
    is_own: Callable[[str, int], bool] | None = None

    def permitted(self, addresses: Iterable[str], site: str) -> tuple[str, ...]:
        """Those of `addresses` to which requests for a site, by its key, may be sent."""
        found = filter(self.permit, addresses)
        is_own = self.is_own
        if is_own is None:
            return tuple(found)
        port = port_of(site)
        return tuple(address for address in found if not is_own(address, port))
