//! Revision 2026-07-28 over standard streams: clients of other SDKs and the server of the example `rounds`, and its client
//! and a server of another SDK. In each session a tool asks the user, and a subscription reports a new tool.

use integration_tests::example::program;
use serde_json::{Value, json};
use tokio::process::Command;

use super::{guarded, script};

/// What a client saw, as JSON.
async fn seen_by(client: &mut Command) -> Value {
    let output = client.arg(program("rounds")).arg("--serve").output().await.unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{errors}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn clients_of_other_sdks_and_our_server() {
    guarded(async {
        let (mut pinned, mut auto) = (script("rounds.mjs"), script("rounds.mjs"));
        for client in [pinned.arg("2026-07-28"), auto.arg("auto"), &mut script("rounds.py")] {
            assert_eq!(
                seen_by(client).await,
                json!({
                    "revision": "2026-07-28",
                    "asked": ["Who is there?"],
                    "said": { "greet": "Hello, Ada!", "learn": "I can dance now.", "count": "one, two, three" },
                    "tools": ["greet", "learn", "count", "dance"],
                    "refused": -32602
                })
            );
        }
    })
    .await;
}

#[tokio::test]
#[ignore = "needs the packages of tests/peers"]
async fn our_client_and_the_typescript_server() {
    guarded(async {
        let server = script("rounds_server.mjs");
        let server = server.as_std();
        let output = Command::new(program("rounds"))
            .arg(server.get_program())
            .args(server.get_args())
            .output()
            .await
            .unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{errors}");
        assert_eq!(
            String::from_utf8(output.stdout).unwrap(),
            "revisions: 2026-07-28\n\
             greet: Hello, Ada!\n\
             learn: I can dance now.\n\
             count: one, two, three\n\
             tools: greet, learn, count, dance\n"
        );
    })
    .await;
}
