//! What do we know already: runs, samples, artefacts.
