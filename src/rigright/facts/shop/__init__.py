"""PC and server parts on sale, found by loose names."""
