//! What a tool needs of the client: [`Needs`] is part of its type.

use mcp_protocols::eras::types::{ClientCapabilities, ElicitationCapability, Object, SamplingCapability};

/// The user can be asked: the client shows forms.
#[derive(Clone, Copy, Debug)]
pub enum User {}

/// The client's model can be asked for a message.
#[derive(Clone, Copy, Debug)]
pub enum Model {}

/// The client lists the directories in which the server may work.
#[derive(Clone, Copy, Debug)]
pub enum Roots {}

/// What a tool, a prompt or a resource needs of the client: `()`, [`User`], [`Model`], [`Roots`], or several of them as a
/// tuple, in this order. What a client cannot do it is not asked for: a tool that needs more is not in its list.
#[diagnostic::on_unimplemented(
    message = "a tool cannot need `{Self}`",
    label = "not something that a tool can need of the client",
    note = "write `()`, `User`, `Model`, `Roots`, or a tuple of several of them in this order: `(User, Model, Roots)`"
)]
pub trait Needs: Send + Sync + 'static {
    /// What a client must have declared.
    fn capabilities() -> ClientCapabilities;

    /// Whether a client that declares this can do what is needed.
    fn are_met(declared: &ClientCapabilities) -> bool;
}

/// What a tool needs has this among it.
#[diagnostic::on_unimplemented(
    message = "`Needs` of the tool does not have `{N}`",
    label = "the client is not known to be able to do this",
    note = "write `type Needs = {N};`, or a tuple that has it: clients that cannot do it then do not see the tool"
)]
pub trait Has<N>: Needs {}

/// Whether a client shows forms. One that declares neither kind of elicitation does.
fn shows_forms(declared: &ClientCapabilities) -> bool {
    declared.elicitation.as_ref().is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

impl Needs for () {
    fn capabilities() -> ClientCapabilities {
        ClientCapabilities::new()
    }

    fn are_met(_: &ClientCapabilities) -> bool {
        true
    }
}

impl Needs for User {
    fn capabilities() -> ClientCapabilities {
        ClientCapabilities::new().elicitation(ElicitationCapability::new())
    }

    fn are_met(declared: &ClientCapabilities) -> bool {
        shows_forms(declared)
    }
}

impl Needs for Model {
    fn capabilities() -> ClientCapabilities {
        ClientCapabilities::new().sampling(SamplingCapability::new())
    }

    fn are_met(declared: &ClientCapabilities) -> bool {
        declared.sampling.is_some()
    }
}

impl Needs for Roots {
    fn capabilities() -> ClientCapabilities {
        ClientCapabilities::new().roots(Object::new())
    }

    fn are_met(declared: &ClientCapabilities) -> bool {
        declared.roots.is_some()
    }
}

impl Has<User> for User {}
impl Has<Model> for Model {}
impl Has<Roots> for Roots {}

/// Several needs at once.
macro_rules! tuples {
    ($($tuple:ty { $($need:ident),* })*) => { $(
        impl Needs for $tuple {
            fn capabilities() -> ClientCapabilities {
                let mut all = ClientCapabilities::new();
                for one in [$($need::capabilities()),*] {
                    all.elicitation = all.elicitation.or(one.elicitation);
                    all.sampling = all.sampling.or(one.sampling);
                    all.roots = all.roots.or(one.roots);
                }
                all
            }

            fn are_met(declared: &ClientCapabilities) -> bool {
                [$($need::are_met(declared)),*].into_iter().all(|is_met| is_met)
            }
        }
    )* };
}

tuples! {
    (User, Model) { User, Model }
    (User, Roots) { User, Roots }
    (Model, Roots) { Model, Roots }
    (User, Model, Roots) { User, Model, Roots }
}

impl Has<User> for (User, Model) {}
impl Has<Model> for (User, Model) {}
impl Has<User> for (User, Roots) {}
impl Has<Roots> for (User, Roots) {}
impl Has<Model> for (Model, Roots) {}
impl Has<Roots> for (Model, Roots) {}
impl Has<User> for (User, Model, Roots) {}
impl Has<Model> for (User, Model, Roots) {}
impl Has<Roots> for (User, Model, Roots) {}
