"""Parts of whole machines as they are sold, and finding them by loose names."""
