"""The suite's settings with the static files as production serves them: collected, named by content, compressed."""

import os
from pathlib import Path

from tests.settings import *  # noqa: F403
from tests.settings import STORAGES

STATIC_ROOT = Path(os.environ["STATIC_ROOT"])
STORAGES["staticfiles"] = {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"}
WHITENOISE_USE_FINDERS = False
WHITENOISE_AUTOREFRESH = False
