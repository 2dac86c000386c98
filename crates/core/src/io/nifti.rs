//! Volumes, label maps and NIfTI files (.nii, .nii.gz).
