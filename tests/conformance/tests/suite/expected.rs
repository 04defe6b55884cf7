//! What each scenario is expected to come to: how many checks pass. None fails, and none warns.

/// A scenario and the number of its checks.
pub(crate) type Row = (&'static str, usize);

pub(crate) const STABLE_SERVER: &[Row] = &[
    ("server-initialize", 1),
    ("logging-set-level", 1),
    ("ping", 1),
    ("completion-complete", 1),
    ("tools-list", 1),
    ("tools-call-simple-text", 1),
    ("tools-call-image", 1),
    ("tools-call-audio", 1),
    ("tools-call-embedded-resource", 1),
    ("tools-call-mixed-content", 1),
    ("tools-call-with-logging", 1),
    ("tools-call-error", 1),
    ("tools-call-with-progress", 1),
    ("tools-call-sampling", 1),
    ("tools-call-elicitation", 1),
    ("elicitation-sep1034-defaults", 5),
    ("server-sse-multiple-streams", 2),
    ("elicitation-sep1330-enums", 5),
    ("resources-list", 1),
    ("resources-read-text", 1),
    ("resources-read-binary", 1),
    ("resources-templates-read", 1),
    ("resources-subscribe", 1),
    ("resources-unsubscribe", 1),
    ("prompts-list", 1),
    ("prompts-get-simple", 1),
    ("prompts-get-with-args", 1),
    ("prompts-get-embedded-resource", 1),
    ("prompts-get-with-image", 1),
    ("dns-rebinding-protection", 2),
];

/// The suite runs these on request only.
pub(crate) const STABLE_PENDING: &[Row] = &[("json-schema-2020-12", 4), ("server-sse-polling", 3)];

pub(crate) const NEXT_SERVER: &[Row] = &[
    ("server-initialize", 3),
    ("logging-set-level", 2),
    ("ping", 2),
    ("completion-complete", 2),
    ("tools-list", 3),
    ("tools-call-simple-text", 2),
    ("tools-call-image", 2),
    ("tools-call-audio", 2),
    ("tools-call-embedded-resource", 2),
    ("tools-call-mixed-content", 2),
    ("tools-call-with-logging", 2),
    ("tools-call-error", 2),
    ("tools-call-with-progress", 2),
    ("tools-call-sampling", 2),
    ("tools-call-elicitation", 2),
    ("elicitation-sep1034-defaults", 6),
    ("server-sse-multiple-streams", 2),
    ("elicitation-sep1330-enums", 6),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
    ("resources-subscribe", 2),
    ("resources-unsubscribe", 2),
    ("prompts-list", 2),
    ("prompts-get-simple", 2),
    ("prompts-get-with-args", 2),
    ("prompts-get-embedded-resource", 2),
    ("prompts-get-with-image", 2),
    ("dns-rebinding-protection", 2),
    ("server-session-lifecycle", 3),
    ("json-schema-2020-12", 8),
    ("server-sse-polling", 3),
];

/// Those that the revision before does not have.
pub(crate) const SINCE_REVISION: [&str; 6] = [
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
    "json-schema-2020-12",
    "server-sse-polling",
];

pub(crate) const STABLE_CLIENT: &[Row] =
    &[("initialize", 1), ("tools_call", 1), ("elicitation-sep1034-client-defaults", 5), ("sse-retry", 3)];

pub(crate) const NEXT_CLIENT: &[Row] = &[
    ("initialize", 1),
    ("tools_call", 2),
    ("elicitation-sep1034-client-defaults", 5),
    ("sse-retry", 3),
    ("json-schema-2020-12-preservation", 9),
];

/// What revision 2026-07-28 requires of a server that answers with JSON what JSON can answer, and three scenarios that the
/// suite runs and does not count.
pub(crate) const REQUESTS_SERVER: &[Row] = &[
    ("server-stateless", 30),
    ("completion-complete", 2),
    ("tools-list", 4),
    ("tools-call-simple-text", 2),
    ("tools-call-image", 2),
    ("tools-call-audio", 2),
    ("tools-call-embedded-resource", 2),
    ("tools-call-mixed-content", 2),
    ("tools-call-error", 2),
    ("tools-call-with-progress", 2),
    ("server-sse-multiple-streams", 1),
    ("resources-list", 2),
    ("resources-read-text", 2),
    ("resources-read-binary", 2),
    ("resources-templates-read", 2),
    ("sep-2164-resource-not-found", 4),
    ("prompts-list", 2),
    ("prompts-get-simple", 2),
    ("prompts-get-with-args", 2),
    ("prompts-get-embedded-resource", 2),
    ("prompts-get-with-image", 2),
    ("dns-rebinding-protection", 2),
    ("caching", 8),
    ("input-required-result-basic-elicitation", 3),
    ("input-required-result-basic-sampling", 3),
    ("input-required-result-basic-list-roots", 3),
    ("input-required-result-request-state", 3),
    ("input-required-result-multiple-input-requests", 3),
    ("input-required-result-multi-round", 4),
    ("input-required-result-missing-input-response", 2),
    ("input-required-result-non-tool-request", 3),
    ("input-required-result-result-type", 2),
    ("input-required-result-unsupported-methods", 2),
    ("input-required-result-tampered-state", 2),
    ("input-required-result-capability-check", 2),
    ("input-required-result-ignore-extra-params", 2),
    ("input-required-result-validate-input", 3),
    ("json-schema-2020-12", 8),
    ("http-header-validation", 14),
    ("http-custom-header-server-validation", 10),
];

/// Those that the suite does not count.
pub(crate) const NOT_COUNTED: [&str; 3] =
    ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"];

pub(crate) const REQUESTS_CLIENT: &[Row] = &[
    ("tools_call", 2),
    ("request-metadata", 6),
    ("sep-2322-client-request-state", 5),
    ("http-standard-headers", 9),
    ("http-custom-headers", 18),
    ("http-invalid-tool-headers", 12),
    ("json-schema-ref-no-deref", 1),
];
