"""`look-up`: chips, CPUs, clouds, prices, software, engines, formats, models, myths.

Kinds are rows of data/listing_kinds.csv, their columns of data/listing_fields.csv; a file of `kinds/` bears a
`listing.ListingKind` of each. `verb.look_up` finds, filters, sorts and limits.
"""
