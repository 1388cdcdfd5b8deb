"""Other people's logs: one file per format, each with a `sniff` and a `parse`; everything else is shared."""
