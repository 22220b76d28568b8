//! Job files: parse, include, expand the matrix, resolve for a testbox.
