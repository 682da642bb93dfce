"""Attaching files to incidents: the row and its file are kept together or not at all."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.translation import gettext as _

from dealing import permissions
from dealing.models import Table
from dealing.permissions import May

from . import attachments
from .models import Incident, IncidentAttachment
from .trail.writing import Kind, note

#: How many files an incident may have.
LIMIT: Final = 20


def do_attach_file(incident: Incident, user: User, upload: UploadedFile, caption: str = "") -> IncidentAttachment:
    """Keep a file with an incident.

    Raises PermissionDenied for somebody below a supervisor, and ValidationError by field (`file`, `caption`) for what
    is no picture or clip, too large, or one too many; nothing is kept then.
    """
    permissions.check(user, May.REVIEW)
    kind = check_file(upload)
    if "\x00" in caption:  # PostgreSQL keeps no such character
        raise ValidationError({"caption": _("This holds a character that cannot be stored.")})
    stored = attachments.store(upload.chunks(), kind)
    try:
        with transaction.atomic():
            # The table's lock makes whoever attaches at the same moment wait, so that the limit holds.
            Table.objects.select_for_update().get(pk=incident.table_id)
            if incident.attachments.count() >= LIMIT:
                raise ValidationError({"file": _("This incident has %(limit)d files already.") % {"limit": LIMIT}})
            kept = IncidentAttachment.objects.create(
                incident=incident,
                name=plain_name(upload.name or "", kind),
                caption=caption.strip(),
                media_type=kind.media_type,
                size=stored.size,
                sha256=stored.sha256,
                stored=stored.name,
                added_by=user,
                added_by_name=user.get_full_name() or user.get_username(),
                added_at=timezone.now(),
            )
            note(incident, Kind.ATTACHMENT, kept, user.get_username())
            return kept
    except BaseException:
        attachments.discard(stored.name)
        raise


def check_file(upload: UploadedFile) -> attachments.Kind:
    """What the file is, by its content. Raises ValidationError for `file` where it is not taken."""
    upload.seek(0)
    kind = attachments.kind_of(upload.read(64))
    upload.seek(0)
    if kind is None:
        raise ValidationError({"file": _("This is no picture (JPEG, PNG, WebP) and no video clip (MP4, MOV, WebM).")})
    if (upload.size or 0) > kind.limit:
        raise ValidationError({"file": _("This is larger than %(limit)s.") % {"limit": filesizeformat(kind.limit)}})
    whole = upload.file is not None and attachments.sound(upload.file, kind)
    upload.seek(0)
    if not whole:
        raise ValidationError({"file": _("This file is damaged, or holds something else besides a picture or clip.")})
    return kind


def plain_name(given: str, kind: attachments.Kind) -> str:
    """The name a file came with, made harmless: no folders, nothing invisible, and the ending of what it really is."""
    stem = "".join(char for char in PurePath(given.replace("\\", "/")).stem if char.isprintable()).strip(" .")
    return (stem[: 120 - len(kind.ending)] or "file") + kind.ending
