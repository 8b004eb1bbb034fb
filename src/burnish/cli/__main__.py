"""python -m burnish.cli"""

from burnish.cli.main import run

run()
