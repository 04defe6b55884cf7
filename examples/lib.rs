//! The examples are in the folders next to this file, a program each.
