"""What vendors' tools tell, as records: single values, fields by the words of a table, whole devices."""
