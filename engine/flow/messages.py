"""What the engine's process is asked about pictures that stay in their files, beside what any is."""

from typing import ClassVar

from engine.host.request import Request
from engine.message import Message
from engine.work.messages import PictureJob


class SaveFiltered(Message, Request, frozen=True):
    """Save the result of a picture that stays in its file, in bands and in full size. Reply: Saved."""

    job: PictureJob
    path: str
    depth: str = "keep"
    path_field: ClassVar[str] = "path"
    handler: ClassVar[str] = "engine.flow.saving:save_filtered"
