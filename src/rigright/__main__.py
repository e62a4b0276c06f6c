"""`python -m rigright`: a Ctrl-C while the program is being loaded is quiet too."""

import sys


def main() -> int:
    """Answer the command line."""
    try:
        from rigright.faces.cli.main import main as answer

        return answer()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
