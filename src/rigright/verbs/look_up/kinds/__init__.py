"""What `look-up` knows: each file bears a `ListingKind` of every kind that `verb.KINDS` says it does."""
