//! Names a session by what a Redis server keeps under a key.

use std::time::Duration;

use mcp_runtime::transport::http::SessionProvider;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client, RedisError};

/// Asks a Redis server for the id of the session, anew for each request.
pub(crate) struct FromRedis {
    /// One connection for all requests, made when it is needed and made again when it is lost.
    connection: ConnectionManager,
    key: String,
}

/// Why there is no id. The caller finds it in `Error::SessionProvider`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoSession {
    /// The server cannot be reached, does not answer in time, or keeps something else under the key.
    #[error("redis has not named the session under `{key}`")]
    Redis {
        /// The key that was asked for.
        key: String,
        /// What the client of Redis says to it.
        source: RedisError,
    },
    /// The server keeps nothing under the key: there is no session, or no more.
    #[error("redis keeps no session under `{key}`")]
    Missing {
        /// The key that was asked for.
        key: String,
    },
}

impl FromRedis {
    /// Asks the server at an address such as `redis://127.0.0.1:6379`, which may take so long to be connected to, and
    /// so long to answer. Nothing is connected to before the first request.
    pub(crate) fn new(url: &str, key: &str, within: Duration) -> Result<FromRedis, RedisError> {
        // A request waits for the id, so it is told soon that there is none, and whoever has made it may try again.
        let config = ConnectionManagerConfig::new()
            .set_number_of_retries(1)
            .set_connection_timeout(Some(within))
            .set_response_timeout(Some(within));
        let connection = ConnectionManager::new_lazy_with_config(Client::open(url)?, config)?;
        Ok(FromRedis { connection, key: key.to_owned() })
    }
}

impl SessionProvider for FromRedis {
    type Error = NoSession;

    async fn session_id(&self) -> Result<String, NoSession> {
        // The copy is one more sender on the same connection.
        let kept: Result<Option<String>, RedisError> = self.connection.clone().get(&self.key).await;
        match kept {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(NoSession::Missing { key: self.key.clone() }),
            Err(source) => Err(NoSession::Redis { key: self.key.clone(), source }),
        }
    }
}
