"""How much of an upload is read at all, whichever page it is for."""

from __future__ import annotations

from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from django.core.files.uploadhandler import FileUploadHandler
from django.template.defaultfilters import filesizeformat
from django.utils.translation import gettext as _

#: The largest file that any page takes is a clip of 60 MB; beside it stand a few fields.
LIMIT: Final = 64 * 1024 * 1024


class Limit(FileUploadHandler):
    """Stops reading a body that is too large: at once where its sender says so, or else where it becomes so."""

    seen = 0

    def handle_raw_input(
        self, input_data: Any, meta: Any, content_length: int, boundary: Any, encoding: Any = None
    ) -> None:
        """Look at the length that the sender gave. Raises RequestDataTooBig."""
        self._check(content_length)

    def receive_data_chunk(self, raw_data: bytes, start: int) -> bytes:
        """Count. Raises RequestDataTooBig."""
        self.seen += len(raw_data)
        self._check(self.seen)
        return raw_data

    def file_complete(self, file_size: int) -> None:
        """What the file is, is for the handlers behind."""

    def _check(self, size: int) -> None:
        if size > LIMIT:
            raise RequestDataTooBig(_("This is larger than %(limit)s.") % {"limit": filesizeformat(LIMIT)})
