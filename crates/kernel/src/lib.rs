//! Which kernel is that: packages, images, artefacts.
