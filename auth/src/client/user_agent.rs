//! [`UserAgent`]: the user's browser.

use std::error::Error as StdError;
use std::pin::Pin;

use url::Url;

use super::error::AuthorizationError;

/// The user's browser, in which the user logs in and consents. `examples/login` has one that opens the system's browser and
/// listens on the loopback.
///
/// One that has the user copy the addresses:
///
/// ```
/// use std::io;
///
/// use mcp_auth::client::UserAgent;
/// use url::Url;
///
/// struct Terminal;
///
/// impl UserAgent for Terminal {
///     type Error = io::Error;
///
///     fn redirect_uri(&self) -> String {
///         "http://127.0.0.1/login".to_owned()
///     }
///
///     async fn visit(&self, address: Url) -> Result<Url, io::Error> {
///         println!("Log in at {address}, and paste the address that you come back to:");
///         let mut line = String::new();
///         io::stdin().read_line(&mut line)?;
///         line.trim().parse().map_err(io::Error::other)
///     }
/// }
/// ```
pub trait UserAgent: Send + Sync + 'static {
    /// What can go wrong: the user does not come back, for instance.
    type Error: StdError + Send + Sync + 'static;

    /// The address that the authorization server sends the user back to: on the loopback, or `https`, or of a scheme that the
    /// system opens the program for.
    fn redirect_uri(&self) -> String;

    /// Sends the user to `address`. Returns the address with which the user came back: [`redirect_uri`](Self::redirect_uri),
    /// with a query. Show the user the host of the address that they are sent to. This may take minutes, so it should end
    /// after a time without an answer.
    fn visit(&self, address: Url) -> impl Future<Output = Result<Url, Self::Error>> + Send;
}

type Visited<'a> = Pin<Box<dyn Future<Output = Result<Url, AuthorizationError>> + Send + 'a>>;

/// A user agent of any type.
pub(super) trait AnyUserAgent: Send + Sync {
    fn redirect(&self) -> String;

    fn send(&self, address: Url) -> Visited<'_>;
}

impl<U: UserAgent> AnyUserAgent for U {
    fn redirect(&self) -> String {
        self.redirect_uri()
    }

    fn send(&self, address: Url) -> Visited<'_> {
        Box::pin(async move {
            self.visit(address).await.map_err(|error| AuthorizationError::UserAgent(Box::new(error)))
        })
    }
}
