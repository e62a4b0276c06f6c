"""Vendor tool output -> records: single values, fields named by a table, whole devices."""
