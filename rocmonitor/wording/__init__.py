"""Values to text: the only place where verdicts, caveats and reasons become words."""
