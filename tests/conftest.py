pytest_plugins = ["databases", "scenario", "servers", "sinks"]
