//! The side of Streamable HTTP that calls.
