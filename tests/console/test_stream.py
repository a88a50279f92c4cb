import errno
import io
import os

import pytest

from larbinpy.console.text import open_all, reader_may_leave


def test_output_without_a_reader_is_dropped() -> None:
    read, write = os.pipe()
    stream = os.fdopen(write, "w")
    with reader_may_leave(stream):
        print("heard", file=stream, flush=True)
    assert os.read(read, 100) == b"heard\n"
    os.close(read)
    for _ in range(3):
        with reader_may_leave(stream):
            print("not heard", file=stream, flush=True)
    stream.close()


def test_a_stream_without_a_descriptor_may_be_used() -> None:
    stream = io.StringIO()
    with reader_may_leave(stream):
        stream.write("kept")
    assert stream.getvalue() == "kept"


def test_characters_that_the_encoding_lacks_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(out, "latin-1", newline=""))
    open_all()
    print("é 文", flush=True)
    assert out.getvalue() == b"\xe9 \\u6587\n"


def test_other_errors_go_on() -> None:
    with pytest.raises(KeyError), reader_may_leave(io.StringIO()):
        raise KeyError(errno.EPIPE)
