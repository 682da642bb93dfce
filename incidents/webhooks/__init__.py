"""Webhooks: what happens here, told to other programs of the house as it happens. See `docs/webhooks.md`."""
