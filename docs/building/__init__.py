"""How the site is built: cells that run, pages of the reference, pictures, the gallery, and what a build refuses."""
