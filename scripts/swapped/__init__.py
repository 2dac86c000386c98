"""Made pairs of images with known transforms, registered in both directions."""
