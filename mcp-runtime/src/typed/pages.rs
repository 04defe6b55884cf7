//! [`Pages`]: a list request whose result comes in pages.

use std::collections::HashSet;
use std::fmt;
use std::future::{Future, poll_fn};
use std::hash::{BuildHasher, RandomState};
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use mcp_protocol_machine::protocol::{MessageIndex, Text};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::call::Call;
use super::cancelling::Uncancellable;
use super::handle::Handle;
use super::payload_text::written;
use super::session::Session;
use super::within::Within;
use crate::engine::Link;
use crate::error::{Error, PaginationError};
use crate::jsonrpc::path;

/// The request for one page. Its cursor is looked for in its text.
type OnePage = Call<'static, Box<RawValue>, Uncancellable, ()>;

/// What the pages' type says of them, without holding any.
type Shape<T> = fn() -> T;

/// The pages of a result, each asked for when it is wanted.
///
/// Ends behind the last page, and behind an error. Dropping it takes a request back that runs, where the protocol allows
/// that.
///
/// ```
/// # mod weather { mcp_runtime::protocol!("doc/weather.session"); }
/// use mcp_runtime::Error;
/// use serde_json::{Value, json};
/// use weather::{Active, WeatherClient};
///
/// async fn stations(client: &WeatherClient<Active>) -> Result<Vec<Value>, Error> {
///     let mut stations = Vec::new();
///     let mut pages = client.stations_pages(json!({})).max_pages(20);
///     while let Some(page) = pages.next().await {
///         stations.extend(page?["stations"].as_array().cloned().unwrap_or_default());
///     }
///     Ok(stations)
/// }
/// ```
#[must_use = "pages are asked for one by one, with `next`"]
pub struct Pages<'a, T> {
    link: Link,
    /// What the session or handle is restricted to that they are asked with, if it is.
    within: Within,
    message: MessageIndex,
    cursor: Vec<Text>,
    next: Vec<Text>,
    /// The params of the next request; `None` behind the last one.
    params: Option<Result<String, Error>>,
    running: Option<OnePage>,
    asked: usize,
    most: usize,
    timeout: Option<Duration>,
    /// Hashes of the cursors so far, which may be long. That two are the same by chance will not happen.
    seen: HashSet<u64>,
    hasher: RandomState,
    marker: PhantomData<(&'a (), Shape<T>)>,
}

impl<T> Pages<'_, T> {
    fn new<P: Serialize + ?Sized>(
        link: Link,
        within: Within,
        message: MessageIndex,
        params: &P,
        cursor: &[&'static str],
        next: &[&'static str],
    ) -> Self {
        let params = written(&link, message, params);
        let most = link.options().max_pages;
        let text = |path: &[&'static str]| path.iter().map(|key| Text::Borrowed(key)).collect();
        Pages {
            within,
            message,
            cursor: text(cursor),
            next: text(next),
            params: Some(params),
            running: None,
            asked: 0,
            most,
            timeout: None,
            seen: HashSet::new(),
            hasher: RandomState::new(),
            marker: PhantomData,
            link,
        }
    }

    /// How many pages there may be; one more is [`Error::Pagination`]. In place of
    /// [`Options::max_pages`](crate::Options::max_pages).
    pub fn max_pages(mut self, most: usize) -> Self {
        self.most = most;
        self
    }

    /// How long each page may take, as [`Call::timeout`].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Asks for the next page.
    fn ask(&mut self, params: String) -> Result<OnePage, Error> {
        if self.asked >= self.most {
            return Err(self.endless(PaginationError::TooMany(self.most)));
        }
        self.asked += 1;
        let params = RawValue::from_string(params).map_err(|error| self.unreadable(error))?;
        let call = Call::new(self.link.clone(), self.message, &params).within(self.within.clone());
        Ok(match self.timeout {
            Some(timeout) => call.timeout(timeout),
            None => call,
        })
    }

    /// The params for the page behind one that came, if there is one.
    fn follow(&mut self, params: &str, page: &str) -> Result<Option<String>, Error> {
        let Some(cursor) = path::find(page, &self.next).filter(|cursor| cursor.trim_ascii() != "null") else {
            return Ok(None);
        };
        if !self.seen.insert(self.hasher.hash_one(cursor)) {
            return Err(self.endless(PaginationError::Repeats(self.asked)));
        }
        path::set(Some(params), &self.cursor, cursor).map(Some).map_err(|error| self.unreadable(error))
    }

    fn endless(&self, problem: PaginationError) -> Error {
        Error::Pagination { message: self.name(), problem }
    }

    fn unreadable(&self, error: serde_json::Error) -> Error {
        Error::payload(&self.name(), error)
    }

    fn name(&self) -> Text {
        self.link.protocol().message(self.message).map(|message| message.name.clone()).unwrap_or_default()
    }
}

impl<T: DeserializeOwned> Pages<'_, T> {
    /// Returns the next page; `None` after the last one. Dropping the future does not lose the page.
    pub async fn next(&mut self) -> Option<Result<T, Error>> {
        poll_fn(|context| self.poll_page(context)).await
    }

    /// Returns all pages, or the first error.
    ///
    /// # Errors
    /// That of the first page that fails, and [`Error::Pagination`] if the pages do not come to an end.
    pub async fn all(mut self) -> Result<Vec<T>, Error> {
        let mut pages = Vec::new();
        while let Some(page) = self.next().await {
            pages.push(page?);
        }
        Ok(pages)
    }

    fn poll_page(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, Error>>> {
        if self.running.is_none() {
            let asked = match self.params.clone() {
                None => return Poll::Ready(None),
                Some(params) => params.and_then(|params| self.ask(params)),
            };
            match asked {
                Ok(call) => self.running = Some(call),
                Err(error) => return self.fail(error),
            }
        }
        let Some(call) = &mut self.running else { return Poll::Ready(None) };
        let page = ready!(Pin::new(call).poll(context));
        self.running = None;
        let page = match page {
            Ok(page) => page,
            Err(error) => return self.fail(error),
        };
        let value = match serde_json::from_str(page.get()) {
            Ok(value) => value,
            Err(error) => {
                let error = self.unreadable(error);
                return self.fail(error);
            }
        };
        // What is wrong with the cursor is said when the next page is asked for: this one is good.
        if let Some(Ok(params)) = self.params.take() {
            self.params = self.follow(&params, page.get()).transpose();
        }
        Poll::Ready(Some(Ok(value)))
    }

    fn fail(&mut self, error: Error) -> Poll<Option<Result<T, Error>>> {
        self.params = None;
        Poll::Ready(Some(Err(error)))
    }
}

impl<T: DeserializeOwned> Stream for Pages<'_, T> {
    type Item = Result<T, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_page(context)
    }
}

impl<T> fmt::Debug for Pages<'_, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Pages")
            .field("message", &self.message)
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

impl Session {
    /// A request whose result comes in pages.
    pub fn pages<P: Serialize + ?Sized, T>(
        &self,
        request: MessageIndex,
        params: &P,
        cursor: &[&'static str],
        next: &[&'static str],
    ) -> Pages<'_, T> {
        Pages::new(self.channel.link.clone(), self.channel.within.clone(), request, params, cursor, next)
    }
}

impl Handle {
    /// A request whose result comes in pages.
    pub fn pages<P: Serialize + ?Sized, T>(
        &self,
        request: MessageIndex,
        params: &P,
        cursor: &[&'static str],
        next: &[&'static str],
    ) -> Pages<'static, T> {
        Pages::new(self.link.clone(), self.within.clone(), request, params, cursor, next)
    }
}
