"""Devices that post to and read from the API: card-reading shoes, camera systems, other programs."""
