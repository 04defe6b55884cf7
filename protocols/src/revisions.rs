//! The revisions with a handshake, as lists.

/// The versions of all revisions with a handshake, the latest last.
pub const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The tables of all revisions with a handshake, the latest last: for [`Options::revisions`](mcp_runtime::Options::revisions).
pub static REVISIONS: [&mcp_runtime::protocol::Protocol; 4] = [
    &crate::mcp_2024_11_05::PROTOCOL,
    &crate::mcp_2025_03_26::PROTOCOL,
    &crate::mcp_2025_06_18::PROTOCOL,
    &crate::mcp_2025_11_25::PROTOCOL,
];
