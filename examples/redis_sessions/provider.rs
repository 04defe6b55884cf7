//! A session provider that reads the id from a Redis server.

use std::time::Duration;

use mcp_runtime::transport::http::SessionProvider;
use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{AsyncCommands, Client, RedisError};

/// Asks a Redis server for the id of the session, for each request.
pub(crate) struct FromRedis {
    /// One connection for all requests. It opens when it is needed and reopens when it is lost.
    connection: ConnectionManager,
    key: String,
}

/// Why the provider has no id. The caller finds it in `Error::SessionProvider`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoSession {
    /// The server cannot be reached, does not answer in time, or has a value of another type under the key.
    #[error("redis has not named the session under `{key}`")]
    Redis {
        /// The key that was asked for.
        key: String,
        /// The error of the Redis client.
        source: RedisError,
    },
    /// The server has no value under the key: the session does not exist, or has ended.
    #[error("redis keeps no session under `{key}`")]
    Missing {
        /// The key that was asked for.
        key: String,
    },
}

impl FromRedis {
    /// Creates a provider for the server at an address such as `redis://127.0.0.1:6379`, with timeouts for connecting
    /// and for answers. It connects at the first request.
    pub(crate) fn new(url: &str, key: &str, within: Duration) -> Result<FromRedis, RedisError> {
        // A request waits for the id, so a failure must come soon. The caller may try again.
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
        // The clone is another sender on the same connection.
        let kept: Result<Option<String>, RedisError> = self.connection.clone().get(&self.key).await;
        match kept {
            Ok(Some(id)) => Ok(id),
            Ok(None) => Err(NoSession::Missing { key: self.key.clone() }),
            Err(source) => Err(NoSession::Redis { key: self.key.clone(), source }),
        }
    }
}
