pytest_plugins = ["browser", "commands", "databases", "scenario", "servers", "sinks"]
