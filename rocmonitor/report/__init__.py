"""What people look at: figures; the only importer of matplotlib."""
