"""The name of a crawler in robots.txt and robots directives."""

import re
from functools import lru_cache

# "Foo/1.0 (comment)" and "Foo2" are Foo, "Foo Bar" is no product.
_PRODUCT = re.compile(r"\s*([A-Za-z_-]+)[^\s/(]*\s*(?:[/(]|$)")


@lru_cache(maxsize=16)
def product_token(agent: str) -> str:
    """Return the product token of a User-Agent, in lower case (RFC 9309, section 2.2.1).

    Empty if it has none.
    """
    match = _PRODUCT.match(agent)
    return match[1].rstrip("_-").lower() if match else ""
