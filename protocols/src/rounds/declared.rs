//! What a client must have declared to be asked for something.

use mcp_runtime::shapes::Object;

use crate::mcp_2026_07_28::types::{
    ClientCapabilities, ElicitParams, ElicitationCapability, InputRequest, MissingCapabilityData,
    SamplingCapability,
};

/// What a question needs of the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    Roots,
    Sampling,
    SamplingWithTools,
    Form,
    Url,
}

impl Need {
    pub(super) fn of(question: &InputRequest) -> Need {
        match question {
            InputRequest::RootsList(_) => Need::Roots,
            InputRequest::SamplingCreateMessage(asked) => {
                match asked.params.tools.is_some() || asked.params.tool_choice.is_some() {
                    true => Need::SamplingWithTools,
                    false => Need::Sampling,
                }
            }
            InputRequest::ElicitationCreate(asked) => match asked.params {
                ElicitParams::Url(_) => Need::Url,
                _ => Need::Form,
            },
        }
    }

    /// Whether a client that declares this may be asked.
    fn is_in(self, declared: &ClientCapabilities) -> bool {
        let (sampling, elicitation) = (declared.sampling.as_ref(), declared.elicitation.as_ref());
        match self {
            Need::Roots => declared.roots.is_some(),
            Need::Sampling => sampling.is_some(),
            Need::SamplingWithTools => sampling.is_some_and(|sampling| sampling.tools.is_some()),
            // A client that declares neither kind shows forms.
            Need::Form => elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()),
            Need::Url => elicitation.is_some_and(|kinds| kinds.url.is_some()),
        }
    }

    /// The capability: `elicitation.url`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Need::Roots => "roots",
            Need::Sampling => "sampling",
            Need::SamplingWithTools => "sampling.tools",
            Need::Form => "elicitation.form",
            Need::Url => "elicitation.url",
        }
    }

    /// The data of the error that says what is missing.
    pub(super) fn data(self) -> MissingCapabilityData {
        let (none, nothing) = (ClientCapabilities::new(), Object::new());
        let (sampling, elicitation) = (SamplingCapability::new(), ElicitationCapability::new());
        MissingCapabilityData::new(match self {
            Need::Roots => none.roots(nothing),
            Need::Sampling => none.sampling(sampling),
            Need::SamplingWithTools => none.sampling(sampling.tools(nothing)),
            Need::Form => none.elicitation(elicitation.form(nothing)),
            Need::Url => none.elicitation(elicitation.url(nothing)),
        })
    }
}

/// The first of some questions that a client does not declare that it can answer, and what that needs.
pub(crate) fn undeclared<'a>(
    declared: &ClientCapabilities,
    questions: impl IntoIterator<Item = (&'a String, &'a InputRequest)>,
) -> Option<(&'a str, Need)> {
    let mut needs = questions.into_iter().map(|(name, question)| (name.as_str(), Need::of(question)));
    needs.find(|(_, need)| !need.is_in(declared))
}
