"""The `sprintprof` command."""

import sys


def main() -> None:
    """Run the command line and leave with its exit code."""
    from sprintprof.cli.app import run

    sys.exit(run())


if __name__ == "__main__":
    main()
