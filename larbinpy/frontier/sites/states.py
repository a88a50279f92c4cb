"""The states of a site, from its first URL to OPEN and back.

    NEW --wanted--> RESOLVING --address--> ROBOTS --rules--> OPEN --stale--> RESOLVING
                    RESOLVING --no_address--> WAITING
                              ROBOTS --no_robots--> WAITING --retry--> RESOLVING
                                                  OPEN --login--> LOGIN --logged_in--> OPEN
                                                       LOGIN --no_login--> WAITING
                                                  OPEN --probe--> PROBING --probed--> OPEN

    RESOLVING --give_up--> CLOSED
       ROBOTS --give_up--> CLOSED
        LOGIN --give_up--> CLOSED
      PROBING --give_up--> CLOSED
      WAITING --give_up--> CLOSED
         OPEN --give_up--> CLOSED --wanted--> RESOLVING

A failure on the way is tried again after a wait. When the tries are used up, and when an
open site no longer answers, it is closed for a while; a later URL opens it again. If no host of
the crawl exists, the sites are closed without further tries. A site whose logins have
failed is closed for a day.
"""

from enum import Enum, auto


class State(Enum):
    NEW = auto()
    #: Its address is being looked up.
    RESOLVING = auto()
    #: Its robots.txt is being fetched.
    ROBOTS = auto()
    #: A login is under way; its other URLs wait.
    LOGIN = auto()
    #: It is asked for names that cannot exist; its other URLs wait.
    PROBING = auto()
    #: Its URLs may be fetched as politeness allows.
    OPEN = auto()
    #: A step failed and will be tried again.
    WAITING = auto()
    #: Given up for a while; its URLs end with the outcome `verdict`.
    CLOSED = auto()


class Event(Enum):
    #: A URL arrived.
    WANTED = auto()
    #: An address is known.
    ADDRESS = auto()
    NO_ADDRESS = auto()
    #: The rules of robots.txt are known.
    RULES = auto()
    NO_ROBOTS = auto()
    #: Its URLs need a login.
    LOGIN = auto()
    LOGGED_IN = auto()
    NO_LOGIN = auto()
    #: Its answers to names that do not exist are needed.
    PROBE = auto()
    PROBED = auto()
    #: The address or the rules are out of date, or a failed URL wants a fresh address.
    STALE = auto()
    #: The wait after a failure is over.
    RETRY = auto()
    #: The tries are used up.
    GIVE_UP = auto()


#: All transitions of a site. A pair that is missing is an error in the program.
TRANSITIONS: dict[tuple[State, Event], State] = {
    (State.NEW, Event.WANTED): State.RESOLVING,
    (State.RESOLVING, Event.ADDRESS): State.ROBOTS,
    (State.RESOLVING, Event.NO_ADDRESS): State.WAITING,
    (State.RESOLVING, Event.GIVE_UP): State.CLOSED,
    (State.ROBOTS, Event.RULES): State.OPEN,
    (State.ROBOTS, Event.NO_ROBOTS): State.WAITING,
    (State.ROBOTS, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.LOGIN): State.LOGIN,
    (State.LOGIN, Event.LOGGED_IN): State.OPEN,
    (State.LOGIN, Event.NO_LOGIN): State.WAITING,
    (State.LOGIN, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.PROBE): State.PROBING,
    (State.PROBING, Event.PROBED): State.OPEN,
    (State.PROBING, Event.GIVE_UP): State.CLOSED,
    (State.WAITING, Event.RETRY): State.RESOLVING,
    (State.WAITING, Event.GIVE_UP): State.CLOSED,
    (State.OPEN, Event.STALE): State.RESOLVING,
    (State.OPEN, Event.GIVE_UP): State.CLOSED,
    (State.CLOSED, Event.WANTED): State.RESOLVING,
}
#: States in which preliminary requests may be sent, and URLs wait for them.
STEPS = frozenset({State.ROBOTS, State.LOGIN, State.PROBING})
#: States in which nothing is under way for a site that has no URLs.
AT_REST = frozenset({State.NEW, State.OPEN, State.CLOSED})
