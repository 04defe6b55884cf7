//! Versions that are numbers.

use mcp_runtime::error::AnnouncedVersion;
use mcp_runtime::transport::duplex;
use mcp_runtime::{Error, Options, StepError};
use serde_json::{Value, json};
use test_support::script::guarded;

use crate::protocols::app_server::{Agent, Editor};

/// A client that asks for version 1, and is answered with this one by a server that writes any.
async fn answered_with(version: Value) -> Result<Value, Error> {
    let (near, far) = duplex();
    let serving = async {
        let (_, asked) =
            Agent::with_options(far, Options::new().accept_any_version()).recv_initialize().await.unwrap();
        asked.send_initialized(json!({ "protocolVersion": version })).await.unwrap()
    };
    let (client, _server) =
        tokio::join!(Editor::new(near).initialize(json!({ "protocolVersion": 1 })), serving);
    match client {
        Ok((initialized, _client)) => Ok(initialized),
        Err(StepError::NegotiationFailed { error, session }) => {
            session.abort();
            Err(error)
        }
        Err(other) => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_takes_the_number_that_it_speaks_and_nothing_else() {
    guarded(async {
        assert_eq!(answered_with(json!(1)).await.unwrap(), json!({ "protocolVersion": 1 }));
        for (version, offered) in [
            (json!(2), AnnouncedVersion::Named("2".to_owned())),
            (json!("1"), AnnouncedVersion::NotANumber("\"1\"".to_owned())),
            (json!(1.5), AnnouncedVersion::NotANumber("1.5".to_owned())),
        ] {
            let Err(Error::Version { offered: found, accepted, .. }) = answered_with(version).await else {
                panic!()
            };
            assert_eq!((found, accepted), (offered, vec!["1".to_owned()]));
        }
    })
    .await;
}

#[tokio::test]
async fn a_side_neither_asks_for_nor_announces_a_version_that_it_does_not_speak() {
    guarded(async {
        let (near, far) = duplex();
        let refused = Editor::new(near).initialize(json!({ "protocolVersion": 2 })).await.unwrap_err();
        assert!(refused.to_string().contains("asks for version `2`, and this side accepts `1`"), "{refused}");
        drop(far);

        let (near, far) = duplex();
        let serving = async {
            let (_, asked) = Agent::new(far).recv_initialize().await.unwrap();
            let refused = asked.send_initialized(json!({ "protocolVersion": "1" })).await.unwrap_err();
            assert!(refused.to_string().contains("`\"1\"`, which is not a whole number"), "{refused}");
        };
        let asking = Editor::new(near).initialize(json!({ "protocolVersion": 1 }));
        tokio::select! { _ = asking => panic!(), () = serving => {} }
    })
    .await;
}
