//! The payloads: the types of the crate `agent-client-protocol-schema` for version 1 of the protocol.

pub use agent_client_protocol_schema::ProtocolVersion;
pub use agent_client_protocol_schema::v1::*;
