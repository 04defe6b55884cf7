//! The protocols of this project, walked at random.
