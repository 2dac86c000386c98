"""Makes ``python -m antsreg_gpu`` the same as the command ``antsreg-gpu``."""

from ._command import main

main()
