"""Options of requests: each is set for all requests or anew for each, never left over."""

from typing import Any

import pycurl
import pytest

from larbinpy.fetch.options import LENIENCY, common, single
from larbinpy.fetch.settings import FetchSettings, Request
from larbinpy.url import Url
from tests.support.webserver import anything

PROXY = "http://192.0.2.9:3128"


@pytest.mark.parametrize("proxy_url", [None, PROXY])
def test_nothing_of_one_request_is_left_for_the_next(proxy_url: str | None) -> None:
    """An option that one request sets, all set, and it is none of the common ones."""
    settings = FetchSettings(handles=1, user_agent="us", proxy_url=proxy_url, use_cookies=True)
    conditions = ['If-None-Match: "1"']
    sets = []
    for leniency in (0, *LENIENCY):
        for headers in ((), conditions):
            options: dict[int, Any] = {}
            request = Request(Url("http://a.test/", 1), "192.0.2.1", anything, 9, headers)
            single(options.__setitem__, request, settings, leniency)
            assert (conditions[0] in options[pycurl.HTTPHEADER]) == bool(headers)
            sets.append(options.keys())
    assert all(options == sets[0] for options in sets)
    once = [option for option, _ in common(settings)]
    assert len(set(once)) == len(once)
    assert not sets[0] & set(once)
