//! Bodies that are read to a limit.

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::{StreamExt, stream};

/// A body that was read.
#[derive(Debug)]
pub(super) enum Collected {
    Whole(Bytes),
    /// It is longer than the limit: its beginning, and the rest.
    Long(Bytes, BodyDataStream),
}

impl Collected {
    /// Reads a body.
    ///
    /// # Errors
    /// If its sender breaks off.
    pub(super) async fn read(body: Body, limit: usize) -> Result<Collected, axum::Error> {
        let mut rest = body.into_data_stream();
        let Some(first) = rest.next().await.transpose()? else { return Ok(Collected::Whole(Bytes::new())) };
        if first.len() > limit {
            return Ok(Collected::Long(first, rest));
        }
        // Most bodies come in one piece.
        let Some(second) = rest.next().await.transpose()? else { return Ok(Collected::Whole(first)) };
        let mut read = [first, second].concat();
        while read.len() <= limit {
            let Some(piece) = rest.next().await.transpose()? else {
                return Ok(Collected::Whole(read.into()));
            };
            read.extend_from_slice(&piece);
        }
        Ok(Collected::Long(read.into(), rest))
    }

    /// What was read.
    pub(super) fn beginning(&self) -> &[u8] {
        let (Collected::Whole(bytes) | Collected::Long(bytes, _)) = self;
        bytes
    }

    /// The body, byte for byte.
    pub(super) fn into_body(self) -> Body {
        match self {
            Collected::Whole(bytes) => bytes.into(),
            Collected::Long(bytes, rest) => Body::from_stream(stream::iter([Ok(bytes)]).chain(rest)),
        }
    }
}
