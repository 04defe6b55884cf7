//! Random mistakes in recordings that follow their protocol.
