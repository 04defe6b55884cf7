//! Each question by the name that it has in the protocol, and the file that answers it.

pub(super) use super::actions::actions as code_action;
pub(super) use super::complete::complete as completion;
pub(super) use super::diagram::execute as execute_command;
pub(super) use super::hover::hover;
pub(super) use super::layout::formatting;
pub(super) use super::navigate::{definition, highlights as document_highlight, references};
pub(super) use super::outline::{document_symbols as document_symbol, workspace_symbols as workspace_symbol};
pub(super) use super::rename::{prepare as prepare_rename, rename};
