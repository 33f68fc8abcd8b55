"""Files that are not what a reader expects, for the tests of every reader."""

import gzip
import os

NESTED = b"[" * 100_000 + b"]" * 100_000
CONTENTS = {
    "not utf-8": b'{"format": "haloscope-chain", "version": 1, "title": "\xff\xfe\xe9"}',
    "a half of a pair": b'{"format": "\xed\xa0\x80"}',
    "utf-16": '{"format": "haloscope-chain"}'.encode("utf-16"),
    "utf-16 without a mark": '{"format": "haloscope-chain"}'.encode("utf-16-be"),
    "utf-32": '{"format": "haloscope-chain"}'.encode("utf-32"),
    "nested": NESTED,
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "zero bytes": b"1 2\0 3\n",
    "only zeros": bytes(100),
    "nothing": b"",
    "blanks": b" \n\n",
    "a long number": b'{"version": ' + b"9" * 5000 + b"}",
    "a large number": b'{"version": 1e999}',
    "no number": b'{"version": NaN}',
    "a key twice": b'{"a": 1, "a": 1}',
    "null": b"null",
    "a text": b'"text"',
    "cut short": b'{"format": "haloscope-chain", "versi',
    "a byte-order mark alone": b"\xef\xbb\xbf",
    "an archive": gzip.compress(b"{}"),
}
NO_FILES = ("missing", "a folder", "in a file", "a pipe", "a device", "a loop", "a long name", "a zero in it")


def made(what, folder):
    """Return the path of a file that is not what a reader expects."""
    path = folder / "a.json"
    if what in CONTENTS:
        path.write_bytes(CONTENTS[what])
    elif what == "a folder":
        path.mkdir()
    elif what == "in a file":
        path.write_bytes(b"{}")
        path /= "b.json"
    elif what == "a pipe":
        os.mkfifo(path)
    elif what == "a device":
        path.symlink_to("/dev/zero")
    elif what == "a loop":
        path.symlink_to(path)
    elif what == "a long name":
        path = folder / ("a" * 5000 + ".json")
    elif what == "a zero in it":
        path = folder / "a\0.json"
    elif what == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    return path
