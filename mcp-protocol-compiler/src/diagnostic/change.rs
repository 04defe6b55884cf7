//! What a suggestion does to the text where that depends on what stands around a place.

use super::edit::Edit;
use crate::source::{FileId, Span};

/// A change of the text, given by places that a finding knows. `crate::edits` makes edits of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextChange {
    /// An edit as it stands.
    Edit(Edit),
    /// A new item. `name` is what it declares; where that is taken, the suggestion gets another name everywhere.
    Declare {
        /// The name.
        name: String,
        /// The whole item.
        item: String,
    },
    /// Deletes the branch that begins with an action, or the action where it does not begin one of several.
    LeaveOut(Span),
    /// Another sign for an action; where it has that sign already, deletes the only `dual` that leads to it.
    Sign(Span, char),
    /// Deletes an action with its dot.
    DeleteStep(Span),
    /// Replaces an action, which is given by itself or by its message, and all that follows it in its sequence.
    ReplaceRest(Span, String),
    /// Deletes the branch that begins with this action, or is this `End`, with its operator.
    DeleteBranch(Span),
    /// Text before an action and behind the end of its sequence.
    Around(Span, &'static str, String),
    /// Text before what stands here: an action, an `End`, a reference, a parenthesis, a definition's body.
    InFront(Span, String),
    /// A request before its reply, or a dot between them.
    Ask(Span, String),
    /// Text in front, before all branches of a choice that begins here.
    BeforeState(Span, String),
    /// A reply behind the last such request in the sequence of an action, in place of any in the channels behind it.
    Answer {
        /// The action before the channels.
        before: Span,
        /// The request.
        action: String,
        /// Its reply.
        reply: String,
    },
    /// Deletes the modifier of this word from the declaration of this name.
    DeleteModifier(Span, &'static str),
    /// Makes the payload of the message of this name `(_)`, if it has none.
    Payload(String),
    /// Deletes a member from the definition of a group.
    DeleteMember(String, String),
    /// Another message of the same kind for the one that stands here, in its channel or in the rest of its sequence.
    OtherMessage {
        /// The action.
        at: Span,
        /// The message.
        name: String,
        /// Whether the whole channel has the other message.
        all: bool,
    },
    /// Fields of messages for a key, with the path that its last field has; `{path}` in the sentence is that path.
    KeyFields {
        /// The key.
        key: String,
        /// The messages.
        messages: Vec<String>,
    },
    /// A key that the message which opens a sub-session carries, or its reply, and later messages; `{key}` in the sentence
    /// is the item.
    DeclareKey {
        /// What opens it.
        opener: String,
        /// The later messages.
        later: Vec<String>,
    },
    /// `open` before the field of a message in a key.
    OpenKeyOf {
        /// The key.
        key: String,
        /// The message.
        message: String,
    },
    /// Deletes the branch that is a bare `End` from the choice that begins with this.
    DeleteEnd(Span),
    /// A definition of this name for the loop around `dual x`, which names it.
    NameLoop(Span, String),
    /// A definition of this name for the body of a `*` that begins with this action.
    NameBody(Span, String),
    /// A payload of Rust types as it is written in Rust. It is meant, and no other change is made, if the file has a `types`
    /// module and one of the names is not that of a shape.
    OfTypes {
        /// The payload.
        at: Span,
        /// The names in it.
        names: Vec<String>,
        /// What to write.
        written: String,
    },
    /// Another sign for the commas of these channels.
    Commas(Span, &'static str),
    /// Another operator in place of all of the choice that has this one.
    Operators(Span, &'static str),
    /// A reply behind a request that is open already, and one less behind the request that opens it again.
    AnswerFirst {
        /// The open request.
        opened: Span,
        /// The same again.
        again: Span,
        /// Its reply.
        reply: String,
    },
    /// Deletes the second of two channels that are the same name.
    DeleteTwin(Span),
    /// One `*` in place of two that stand side by side.
    OneBody {
        /// The definitions that are the bodies of the two.
        names: (String, String),
        /// The definition that is the body of the one.
        both: String,
    },
    /// Joins two branches that begin with these actions into one.
    Join(Span, Span),
    /// A new item without a name.
    Item(String),
    /// Text before the item that declares this name.
    BeforeItem(Span, String),
    /// Another name for what is declared here, in its declaration.
    Rename(Span, String),
    /// Another method for the message declared here.
    OtherMethod(Span),
    /// `=` in place of the sign of the group item with this name.
    DefineGroup(Span),
    /// Deletes the member that stands here from its group.
    DeleteMemberAt(Span),
    /// Deletes the member that stands here from its record.
    DeleteField(Span),
    /// Puts an alternative of a union of shapes before another one. Where an `override` takes over one of them, what takes
    /// it over is moved.
    AlternativeBefore(Span, Span),
    /// Deletes the first of two alternatives from its union of shapes, or the other one where an `override` has that one
    /// alone.
    DeleteAlternative(Span, Span),
    /// Deletes the item that stands here.
    DeleteItemAt(Span),
    /// A `types` item for this file.
    Types(FileId),
    /// A condition behind the reply of this name.
    Condition(Span, String),
    /// Declares the reply or message of this name before the other one.
    Before(Span, Span),
    /// Deletes one of the defaults of an announcement.
    DeleteDefault(Span),
    /// Deletes the item that declares this name.
    DeleteItem(Span),
    /// Puts the body of the loop with this variable in parentheses.
    Parentheses(Span),
    /// Ends the loop with this variable before the branch.
    EndLoop(Span, Span),
    /// Ends the channel that goes on as this name, and makes a `*` of it, in place of the loop with this variable.
    Replicate {
        /// Where the loop's variable is used.
        used: Span,
        /// The variable's name.
        variable: Span,
    },
    /// Puts the message behind a fresh action: `text . ` before each way back of this name without one.
    Guard(String, String),
}

impl From<Edit> for TextChange {
    fn from(edit: Edit) -> TextChange {
        TextChange::Edit(edit)
    }
}
