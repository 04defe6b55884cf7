//! `docs/guide/traces.md`: its commands print what it shows.
