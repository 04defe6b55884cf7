//! Checks at compile time that the Rust types a `.session` file names can be payloads.
//!
//! Without this a type that lacks serde's traits is an error in each method that writes or reads it, and none of these
//! errors knows the file. A field is looked at before any code is, so the error from here comes first. That rustc
//! does not recommend the implementations below keeps it from explaining the traits that are missing one by one,
//! without the words here.

use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A payload that is written and read.
#[derive(Debug)]
pub struct Both<T: WrittenAndRead<Place>, Place>(PhantomData<(T, Place)>);

/// A payload that is only written.
#[derive(Debug)]
pub struct Write<T: IsWritten<Place>, Place>(PhantomData<(T, Place)>);

/// A payload that is only read.
#[derive(Debug)]
pub struct Read<T: IsRead<Place>, Place>(PhantomData<(T, Place)>);

/// What can be written as JSON and read from it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the payload of `{Place}`: it has to be `Serialize` and `Deserialize`",
    label = "it needs `#[derive(serde::Serialize, serde::Deserialize)]`"
)]
pub trait WrittenAndRead<Place> {}

/// What can be written as JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the payload of `{Place}`: it has to be `Serialize`",
    label = "it needs `#[derive(serde::Serialize)]`"
)]
pub trait IsWritten<Place> {}

/// What can be read from JSON.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the payload of `{Place}`: it has to be `Deserialize`",
    label = "it needs `#[derive(serde::Deserialize)]`"
)]
pub trait IsRead<Place> {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned, Place> WrittenAndRead<Place> for T {}

#[diagnostic::do_not_recommend]
impl<T: Serialize, Place> IsWritten<Place> for T {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned, Place> IsRead<Place> for T {}
