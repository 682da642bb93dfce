"""The manager's queue and the incident page."""
