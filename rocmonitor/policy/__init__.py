"""The decisions, pure: which windows are due, what a window shows, what the rules say, what follows."""
