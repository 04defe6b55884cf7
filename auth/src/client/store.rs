//! [`Store`]: where tokens are kept.

use std::collections::HashMap;
use std::convert::Infallible;
use std::error::Error as StdError;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::AuthorizationError;
use crate::secret::Secret;

/// Where a client keeps its tokens, and what authorization servers have registered it as: texts by key. The keychain of the
/// system is a good place. A key names the server that the text is for; a text has secrets in it.
///
/// ```
/// use std::collections::HashMap;
/// use std::convert::Infallible;
/// use std::sync::Mutex;
/// use mcp_auth::Secret;
/// use mcp_auth::client::Store;
///
/// /// Keeps them until the program ends, as `MemoryStore` does.
/// struct Kept(Mutex<HashMap<String, Secret>>);
///
/// impl Store for Kept {
///     type Error = Infallible;
///
///     async fn load(&self, key: &str) -> Result<Option<Secret>, Infallible> {
///         Ok(self.0.lock().unwrap().get(key).cloned())
///     }
///
///     async fn save(&self, key: &str, text: Option<Secret>) -> Result<(), Infallible> {
///         let mut kept = self.0.lock().unwrap();
///         match text {
///             Some(text) => drop(kept.insert(key.to_owned(), text)),
///             None => drop(kept.remove(key)),
///         }
///         Ok(())
///     }
/// }
/// ```
pub trait Store: Send + Sync + 'static {
    /// What can go wrong.
    type Error: StdError + Send + Sync + 'static;

    /// Returns the text that was saved under that key.
    fn load(&self, key: &str) -> impl Future<Output = Result<Option<Secret>, Self::Error>> + Send;

    /// Saves a text under that key, in place of the one before; or removes it.
    fn save(&self, key: &str, text: Option<Secret>) -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Keeps tokens as long as the program runs. A clone is the same store.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore(Arc<Mutex<HashMap<String, Secret>>>);

impl Store for MemoryStore {
    type Error = Infallible;

    async fn load(&self, key: &str) -> Result<Option<Secret>, Infallible> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned())
    }

    async fn save(&self, key: &str, text: Option<Secret>) -> Result<(), Infallible> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match text {
            Some(text) => drop(kept.insert(key.to_owned(), text)),
            None => drop(kept.remove(key)),
        }
        Ok(())
    }
}

type Stored<'a, T> = Pin<Box<dyn Future<Output = Result<T, AuthorizationError>> + Send + 'a>>;

/// A store of any type.
pub(super) trait AnyStore: Send + Sync {
    fn read<'a>(&'a self, key: &'a str) -> Stored<'a, Option<Secret>>;

    fn write<'a>(&'a self, key: &'a str, text: Option<Secret>) -> Stored<'a, ()>;
}

impl<S: Store> AnyStore for S {
    fn read<'a>(&'a self, key: &'a str) -> Stored<'a, Option<Secret>> {
        Box::pin(
            async move { self.load(key).await.map_err(|error| AuthorizationError::Store(Box::new(error))) },
        )
    }

    fn write<'a>(&'a self, key: &'a str, text: Option<Secret>) -> Stored<'a, ()> {
        Box::pin(async move {
            self.save(key, text).await.map_err(|error| AuthorizationError::Store(Box::new(error)))
        })
    }
}

/// Reads what was stored under that key. A text that another version of this crate has written counts as none.
pub(super) async fn load<T: DeserializeOwned>(
    store: &dyn AnyStore,
    key: &str,
) -> Result<Option<T>, AuthorizationError> {
    let text = store.read(key).await?;
    Ok(text.and_then(|text| serde_json::from_str(text.expose()).ok()))
}

/// Stores a value under that key.
pub(super) async fn save<T: Serialize>(
    store: &dyn AnyStore,
    key: &str,
    value: &T,
) -> Result<(), AuthorizationError> {
    let text = serde_json::to_string(value).map_err(|error| AuthorizationError::Store(Box::new(error)))?;
    store.write(key, Some(Secret::new(text))).await
}
