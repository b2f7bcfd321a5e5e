"""Principal component analysis and its family, right and fast."""
