//! [`Handlers`]: answers what servers ask.

use std::fmt;
use std::sync::Arc;

use futures_core::future::BoxFuture;
use mcp_protocols::eras::types::{
    ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitAction, ElicitFormParams,
    ElicitParams, ElicitResult, ElicitationCapability, FormSchema, ListRootsResult, Object, Root,
    SamplingCapability,
};
use mcp_protocols::rounds::User;
use mcp_runtime::RpcError;
use mcp_runtime::error::Excerpt;
use serde::Serialize;

use super::super::answer::Answer;
use super::super::failure::{Failure, refusal};
use super::forms::{fits, values};

/// A function of a program that answers one kind of question. A clone is the same.
type Handler<P, R> = Arc<dyn Fn(P) -> BoxFuture<'static, Result<R, Failure>> + Send + Sync>;

/// Answers what servers ask, as [`ConnectOptions`](super::ConnectOptions) say.
#[derive(Clone, Default)]
pub struct Handlers {
    forms: Vec<FormFiller>,
    elicitation: Option<Handler<ElicitParams, ElicitResult>>,
    model: Option<Handler<CreateMessageParams, CreateMessageResult>>,
    roots: Option<Handler<(), Vec<Root>>>,
}

/// Fills in the forms with the fields of a type.
#[derive(Clone)]
struct FormFiller {
    fields: FormSchema,
    answer: Handler<ElicitFormParams, ElicitResult>,
}

impl Handlers {
    /// Fills in forms with these fields.
    pub(super) fn add_form<T, F>(
        &mut self,
        fields: FormSchema,
        answer: impl Fn(ElicitFormParams) -> F + Send + Sync + 'static,
    ) where
        T: Serialize + 'static,
        F: Future<Output = Result<Answer<T>, Failure>> + Send + 'static,
    {
        let answer: Handler<_, _> = Arc::new(move |asked: ElicitFormParams| {
            let form = asked.requested_schema.clone();
            let answer = answer(asked);
            Box::pin(async move {
                Ok(match answer.await? {
                    Answer::Accepted(filled_in) => {
                        ElicitResult::new(ElicitAction::Accept).content(values(&filled_in, &form)?)
                    }
                    Answer::Declined => ElicitResult::new(ElicitAction::Decline),
                    Answer::Cancelled => ElicitResult::new(ElicitAction::Cancel),
                })
            })
        });
        self.forms.push(FormFiller { fields, answer });
    }

    pub(super) fn set_elicitation<F>(&mut self, answer: impl Fn(ElicitParams) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<ElicitResult, Failure>> + Send + 'static,
    {
        self.elicitation = Some(Arc::new(move |asked| Box::pin(answer(asked))));
    }

    pub(super) fn set_model<F>(&mut self, answer: impl Fn(CreateMessageParams) -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<CreateMessageResult, Failure>> + Send + 'static,
    {
        self.model = Some(Arc::new(move |asked| Box::pin(answer(asked))));
    }

    pub(super) fn set_roots<F>(&mut self, roots: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = Result<Vec<Root>, Failure>> + Send + 'static,
    {
        self.roots = Some(Arc::new(move |()| Box::pin(roots())));
    }

    /// Has a handler for each kind of question, which declines where there is no other one.
    pub(super) fn decline_the_rest(&mut self) {
        self.elicitation.get_or_insert_with(|| {
            Arc::new(|_| Box::pin(async { Ok(ElicitResult::new(ElicitAction::Decline)) }))
        });
        self.model.get_or_insert_with(|| {
            Arc::new(|_| {
                Box::pin(async { Err("no call is running for which a client could be asked".into()) })
            })
        });
        self.roots.get_or_insert_with(|| Arc::new(|()| Box::pin(async { Ok(Vec::new()) })));
    }

    /// What the program can do: what it has a handler for.
    pub(super) fn capabilities(&self) -> ClientCapabilities {
        let mut can = ClientCapabilities::new();
        if self.elicitation.is_some() {
            can = can.elicitation(ElicitationCapability::new().form(Object::new()).url(Object::new()));
        } else if !self.forms.is_empty() {
            can = can.elicitation(ElicitationCapability::new());
        }
        if self.model.is_some() {
            can = can.sampling(SamplingCapability::new());
        }
        if self.roots.is_some() {
            can = can.roots(Object::new());
        }
        can
    }
}

impl User for Handlers {
    async fn elicit(&self, params: ElicitParams) -> Result<ElicitResult, RpcError> {
        if let ElicitParams::Form(asked) = &params
            && let Some(form) = self.forms.iter().find(|form| fits(&form.fields, &asked.requested_schema))
        {
            return (form.answer)(asked.clone()).await.map_err(refusal);
        }
        match &self.elicitation {
            Some(answer) => answer(params).await.map_err(refusal),
            None => Err(RpcError::invalid_params(unfilled(&params))),
        }
    }

    async fn create_message(&self, params: CreateMessageParams) -> Result<CreateMessageResult, RpcError> {
        match &self.model {
            Some(answer) => answer(params).await.map_err(refusal),
            None => Err(RpcError::method_not_found("sampling/createMessage")),
        }
    }

    async fn list_roots(&self) -> Result<ListRootsResult, RpcError> {
        match &self.roots {
            Some(roots) => Ok(ListRootsResult::new(roots(()).await.map_err(refusal)?)),
            None => Err(RpcError::method_not_found("roots/list")),
        }
    }
}

/// Why a question stays unanswered that no handler is for.
fn unfilled(asked: &ElicitParams) -> String {
    match asked {
        ElicitParams::Form(form) => {
            let fields: Vec<&str> = form.requested_schema.properties.keys().map(String::as_str).collect();
            if fields.is_empty() {
                return "the client has no form without fields".to_owned();
            }
            format!("the client has no form with these fields: {}", Excerpt(&fields.join(", ")))
        }
        _ => "the client is not asked at a URL".to_owned(),
    }
}

impl fmt::Debug for Handlers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Handlers").field("capabilities", &self.capabilities()).finish()
    }
}
