//! What the scenarios of authorization are expected to come to.

use crate::expected::Row;

/// All of the stable suite, those of older revisions and of extensions included.
pub(crate) const STABLE: &[Row] = &[
    ("auth/metadata-default", 13),
    ("auth/metadata-var1", 13),
    ("auth/metadata-var2", 13),
    ("auth/metadata-var3", 13),
    ("auth/basic-cimd", 13),
    ("auth/scope-from-www-authenticate", 14),
    ("auth/scope-from-scopes-supported", 14),
    ("auth/scope-omitted-when-undefined", 14),
    ("auth/scope-step-up", 22),
    ("auth/scope-retry-limit", 10),
    ("auth/token-endpoint-auth-basic", 18),
    ("auth/token-endpoint-auth-post", 18),
    ("auth/token-endpoint-auth-none", 18),
    ("auth/pre-registration", 13),
    ("auth/2025-03-26-oauth-metadata-backcompat", 12),
    ("auth/2025-03-26-oauth-endpoint-fallback", 7),
    ("auth/resource-mismatch", 2),
    ("auth/offline-access-scope", 13),
    ("auth/offline-access-not-supported", 14),
    ("auth/client-credentials-jwt", 8),
    ("auth/client-credentials-basic", 8),
    ("auth/cross-app-access-complete-flow", 9),
];

/// What revision 2025-11-25 requires.
pub(crate) const NEXT: &[Row] = &[
    ("auth/metadata-default", 18),
    ("auth/metadata-var1", 18),
    ("auth/metadata-var2", 18),
    ("auth/metadata-var3", 18),
    ("auth/basic-cimd", 13),
    ("auth/scope-from-www-authenticate", 14),
    ("auth/scope-from-scopes-supported", 14),
    ("auth/scope-omitted-when-undefined", 14),
    ("auth/scope-step-up", 22),
    ("auth/scope-retry-limit", 10),
    ("auth/token-endpoint-auth-basic", 19),
    ("auth/token-endpoint-auth-post", 19),
    ("auth/token-endpoint-auth-none", 19),
    ("auth/pre-registration", 13),
];

/// What revision 2026-07-28 requires.
pub(crate) const REQUESTS: &[Row] = &[
    ("auth/metadata-default", 18),
    ("auth/metadata-var1", 18),
    ("auth/metadata-var2", 18),
    ("auth/metadata-var3", 18),
    ("auth/basic-cimd", 12),
    ("auth/scope-from-www-authenticate", 14),
    ("auth/scope-from-scopes-supported", 14),
    ("auth/scope-omitted-when-undefined", 14),
    ("auth/scope-step-up", 25),
    ("auth/scope-retry-limit", 11),
    ("auth/token-endpoint-auth-basic", 19),
    ("auth/token-endpoint-auth-post", 19),
    ("auth/token-endpoint-auth-none", 19),
    ("auth/pre-registration", 12),
    ("auth/resource-mismatch", 2),
    ("auth/offline-access-scope", 12),
    ("auth/offline-access-not-supported", 14),
    ("auth/authorization-server-migration", 27),
    ("auth/iss-supported", 14),
    ("auth/iss-not-advertised", 14),
    ("auth/iss-supported-missing", 8),
    ("auth/iss-wrong-issuer", 8),
    ("auth/iss-unexpected", 8),
    ("auth/iss-normalized", 8),
    ("auth/metadata-issuer-mismatch", 3),
];

/// Extensions, which no revision requires: credentials of the program, the identity provider of an enterprise, tokens that are
/// bound to a key, and the identity of a workload.
pub(crate) const NEXT_EXTENSIONS: &[Row] = &[
    ("auth/client-credentials-jwt", 8),
    ("auth/client-credentials-basic", 8),
    ("auth/enterprise-managed-authorization", 9),
    ("auth/dpop", 12),
    ("auth/dpop-nonce", 14),
    ("auth/wif-jwt-bearer", 8),
];
