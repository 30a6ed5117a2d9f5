"""The modules of the campaign find each other by name, as they do when it runs by itself."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
