"""How many examples a law is tried with: a profile says it, and never the law itself.

`quick` is what `make test` takes; `RIGRIGHT_HYPOTHESIS=thorough` is what `make test-live` takes. Both draw
the same examples every time, so that a change is what turns a test red; `hunt` draws new ones, for faults.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

COUNTS = {"quick": 15, "thorough": 100, "hunt": 300}

# a law holds on a slow machine too
for _name, _count in COUNTS.items():
    settings.register_profile(
        _name,
        max_examples=_count,
        deadline=None,
        derandomize=_name != "hunt",
        suppress_health_check=[HealthCheck.too_slow],
    )
PROFILE = os.environ.get("RIGRIGHT_HYPOTHESIS", "quick")
settings.load_profile(PROFILE)

# hypothesis also tries constants of the modules that are loaded: another order of tests, other examples
if PROFILE != "hunt":
    providers._get_local_constants = lambda: providers._local_constants

THOROUGH = settings.default.max_examples >= COUNTS["thorough"]  # loops over sizes and places take more, too

few = settings(max_examples=settings.default.max_examples // 5)  # where one example is a whole search
