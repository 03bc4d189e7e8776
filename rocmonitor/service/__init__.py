"""The service: one tick of a monitor, one review, one pass over the outbox, and the schedule of all three."""
