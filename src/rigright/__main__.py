"""`python -m rigright`."""

import sys

from rigright.faces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
