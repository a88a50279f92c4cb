"""An indexer that does as its first argument says; its messages are those of the real one."""

import json
import os
import signal
import sys
from pathlib import Path

from larbinpy.database.indexer.indexer import Report, due_line, encoded
from larbinpy.database.revisit.round import DuePage


def say(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def note(line: str) -> None:
    with open(sys.argv[2], "a") as log:
        log.write(line)


def _heard() -> int:
    return len(Path(sys.argv[2]).read_text().splitlines())


def _often(word: str) -> bool:
    log = Path(sys.argv[2])
    return log.exists() and log.read_text().count(word) > 1


def main() -> int:
    """Take all that is covered at once, and find two pages gone.

    "foreign" cannot use its database, "broken" ends without a word, "lame" ends at the first
    message, "moody" does so but for the fifth, "killed" is killed twice, "down" reports trouble,
    "mute" ends its output but not itself.
    """
    kind = sys.argv[1]
    if kind == "foreign":
        say(encoded({"error": "x.db: not a database of larbinpy"}))
        return 1
    if kind == "broken":
        return 3
    if kind == "killed" and not _often("killed"):
        note("killed\n")
        os.kill(os.getpid(), signal.SIGKILL)
    say(Report(trouble="server down" if kind == "down" else "").line())
    if kind == "mute":
        os.close(1)
        signal.pause()
    taken = 0
    for line in sys.stdin:
        note(line)
        if kind == "lame" or (kind == "moody" and _heard() != 5):
            return 1
        message = json.loads(line)
        if "ask" in message:
            say(due_line([DuePage("http://a.test/", 1, None, message["ask"][0], 5, ["X: y"])]))
            continue
        if "finish" in message:
            say(Report(taken=taken, pages=taken, done=True).line())
            return 0
        taken = message["records"]
        say(Report(taken=taken, pages=taken, gone=2, kept=message["until"][0]).line())
    note("end\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
