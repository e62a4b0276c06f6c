"""Makes what other rooms' tests are built of importable here."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent.parent / "doctor"))
sys.path.append(str(Path(__file__).parent))
