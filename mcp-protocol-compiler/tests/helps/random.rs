//! Shipped files with a mistake planted in them.
