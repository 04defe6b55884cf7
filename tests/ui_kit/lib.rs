//! Holds nothing: this package exists for its tests.
