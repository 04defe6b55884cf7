//! The example `coding_agent`, driven by the example client of the SDK.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use test_support::script::guarded;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::{EXAMPLES, peer};

/// The example client starts its agent with `npx`. Here this is a script that starts ours.
#[tokio::test]
#[ignore = "needs Node and `npm ci` in `tests/peers`"]
async fn the_example_client_drives_the_example_agent() {
    guarded(async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("coding-agent");
        std::fs::create_dir_all(&folder).unwrap();
        let (npx, reports) = (folder.join("npx"), folder.join("reports"));
        let program = integration_tests::example::program("coding_agent");
        let script = format!("#!/bin/sh\nexec '{}' --serve 2>'{}'\n", program.display(), reports.display());
        std::fs::write(&npx, script).unwrap();
        std::fs::set_permissions(&npx, Permissions::from_mode(0o755)).unwrap();
        let path = [folder.into_os_string(), std::env::var_os("PATH").unwrap()].join(OsStr::new(":"));
        let mut client = Command::new("node")
            .arg(peer(EXAMPLES).join("client.js"))
            .env("PATH", path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The client asks its user for the permission.
        client.stdin.as_mut().unwrap().write_all(b"1\n").await.unwrap();
        let output = client.wait_with_output().await.unwrap();
        let output = String::from_utf8(output.stdout).unwrap();
        let lines =
            ["Read notes.txt", "Your notes have 3 words. You have no terminal.", "completed with: end_turn"];
        for line in lines {
            assert!(output.contains(line), "{output}");
        }
        // What the agent reports it writes there.
        assert_eq!(std::fs::read_to_string(reports).unwrap(), "");
    })
    .await;
}
