pytest_plugins = ["databases", "servers", "sinks"]
