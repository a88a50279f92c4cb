"""What fetching stands on."""

import pycurl


def versions() -> str:
    """libcurl, and what it has for TLS, HTTP/2 and codings."""
    binding, libcurl, *libraries = (name.replace("/", " ") for name in pycurl.version.split())
    return f"{libcurl} with {', '.join(libraries)}; {binding}"
