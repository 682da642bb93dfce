"""Databases of older schemas, as rows: each file holds what `manage.py demo` of that time made (of some of its tables).

A file is JSON, packed with xz: `migrations` are those that had been applied, in order, and `tables` has the columns and
the rows of each table as SQLite stored them, so that not a microsecond of a hashed time is lost. They are never made
anew: what a house has stored is what a house has stored.
"""
