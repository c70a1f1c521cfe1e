"""Every value that a private fit releases, one module for each kind."""
