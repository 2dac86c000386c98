"""Made series of volumes with a known motion, and how near a motion correction comes to it."""
