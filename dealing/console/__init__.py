"""The table console: the pages on which a hand is recorded as it is dealt."""
