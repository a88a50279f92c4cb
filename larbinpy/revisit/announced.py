"""Changes that a site announces by the dates in its sitemaps and feeds, and whether they are true.

Many sites date all their pages by the time of the request, or by the last change of a template. So
each date that says that a page has changed since its last visit is judged by the next one, and the
dates of a site count as long as few of them were false.

Only such dates are judged, as nothing else is concluded from one. A date that stays as it is while
its page changes asks for no visit, and tells no age.

Dates are those of `parse.announced`, and times ISO 8601 in UTC, to the second.
"""

from typing import NamedTuple

from larbinpy.revisit.schedule import seconds_between

#: False dates that a site may have for each true one, and without any.
_SHARE, _SPARED = 0.25, 1
#: The number of judged dates from which older ones count half, so that a site can change its ways.
_MOST = 100


class Trust(NamedTuple):
    """How often a site's dates said truly, and falsely, that a page had changed."""

    agreed: int = 0
    contradicted: int = 0

    @property
    def holds(self) -> bool:
        """Whether the site's dates count."""
        return self.contradicted <= _SPARED + _SHARE * self.agreed

    def after(self, *, changed: bool) -> "Trust":
        """The trust after one more date that said that a page had changed."""
        if self.agreed + self.contradicted >= _MOST:
            return Trust(self.agreed // 2, self.contradicted // 2).after(changed=changed)
        return Trust(self.agreed + changed, self.contradicted + (not changed))


def says_changed(date: str, since: str, until: str) -> bool:
    """Whether `date` says that a page has changed after `since`, by `until`.

    A date without a time says so only from the next day on. An empty one says nothing.
    """
    return since < date <= until


def moment(date: str) -> str:
    """The time of a date; the beginning of the day, if that is all it has."""
    return date if "T" in date else f"{date}T00:00:00Z"


def age_of_change(date: str, since: str, visit: str) -> float | None:
    """Seconds from the last change of a page to its `visit`; None if `date` does not tell.

    `since` is the visit before.
    """
    if not says_changed(date, since, visit):
        return None
    return seconds_between(moment(date), visit)
