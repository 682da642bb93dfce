"""The nightly audit and its reports: each gaming day of each house judged again from the log, and what the office
reads.
"""
