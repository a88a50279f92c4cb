"""The signal that a crawl must begin anew, from what its outputs have on the disk."""


class Restart(Exception):
    """Nothing in memory counts any more: the crawl is assembled again, and resumed.

    The text says why. The state is not saved before.
    """
