"""``python -m rocmonitor``."""

from rocmonitor.cli import main

main()
