pytest_plugins = ["browser", "databases", "scenario", "servers", "sinks"]
