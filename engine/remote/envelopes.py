"""The kinds of messages that come over a line as they are, for each side, and their digest."""

import hashlib

from engine.errors import CodeNotKept
from engine.host.messages import Answer, Cancel, Ready, Superseded, ToHost, Working
from engine.remote.messages import Arrays, Band, Begin, Needed, Written
from engine.remote.schema import name_of

TO_SERVER = Begin | ToHost | Cancel | Superseded | Arrays | Band
FROM_SERVER = Ready | Answer | Working | CodeNotKept | Arrays | Band | Needed | Written

DIGEST = hashlib.blake2b(
    repr(sorted(name_of(kind) for kinds in (TO_SERVER, FROM_SERVER) for kind in kinds.__args__)).encode(),
    digest_size=8,
).hexdigest()
"""Of the envelopes' fields. What is in them carries the digest of its own kind."""
