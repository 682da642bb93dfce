"""Hands out of spreadsheets: read a file, map its columns, make table logs of the rows, judge them row by row, store.

`errors`, `cells`, `reading`, `mapping`, `making` and `auditing` know nothing of Django. `docs/sheets.md` says what was
decided and why.
"""
