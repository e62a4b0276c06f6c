"""Archives of (name, bytes) for tests: a name may be a whole TarInfo, for members that are no plain files."""

from __future__ import annotations

import io
import tarfile
import zipfile


def tar_of(*members, mode="w:gz"):
    """A tar; "w" leaves it as it is."""
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode=mode) as tar:
        for name, raw in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
    return whole.getvalue()


def zip_of(*members):
    """A zip."""
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in members:
            archive.writestr(name, raw)
    return whole.getvalue()
