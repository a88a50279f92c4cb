"""Versions of the libraries behind fetching."""

import pycurl


def versions() -> str:
    """libcurl with its libraries for TLS, HTTP/2 and content codings, and pycurl."""
    binding, libcurl, *libraries = (name.replace("/", " ") for name in pycurl.version.split())
    return f"{libcurl} with {', '.join(libraries)}; {binding}"
