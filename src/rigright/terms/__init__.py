"""What is fitted, tabulated or measured of a case, fetched once for the laws: they look nothing up."""
