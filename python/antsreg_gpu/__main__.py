"""``python -m antsreg_gpu`` is the command ``antsreg-gpu``."""

from ._command import main

main()
