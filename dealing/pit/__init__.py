"""The pit: all tables at a glance, who deals where, and what was found in each dealer's hands."""
