pytest_plugins = ["environment", "browser", "commands", "databases", "scenario", "servers", "sinks"]
