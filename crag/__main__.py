"""`python -m crag`: the engine without a browser."""

import sys

from crag.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
