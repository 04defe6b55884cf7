//! Sessions of the example `file_transfer`: what has arrived in one session is not sent again in the next.

#[allow(dead_code, reason = "the example is a program, and a test needs only some of it")]
#[path = "../../../examples/file_transfer/main.rs"]
mod example;

use std::time::Duration;

use example::transfer::{FileTransferError, Receiver, Sender, Start};
use example::{CHUNK, DIFFERENT, Files, SHRUNK, offer, receive, send, send_chunks};
use mcp_runtime::Options;
use mcp_runtime::transport::duplex;

const FILE: &[u8] = b"0123456789abcdefghi";

fn ends() -> (Sender<Start>, Receiver<Start>) {
    let (near, far) = duplex();
    // What was written before a session is dropped shall arrive, however long it takes.
    let patient = || {
        let mut options = Options::default();
        options.abandon_grace = Duration::from_secs(60);
        options
    };
    (Sender::with_options(near, patient()), Receiver::with_options(far, patient()))
}

fn with(bytes: &[u8]) -> Files {
    Files::from([("letter".to_owned(), bytes.to_vec())])
}

/// A session over which the whole file is sent, or what is missing of it.
async fn whole(files: &mut Files) -> (Result<usize, FileTransferError>, Result<(), FileTransferError>) {
    let (sender, receiver) = ends();
    tokio::join!(send(sender, "letter", FILE), receive(receiver, files))
}

#[tokio::test]
async fn a_file_arrives_in_one_session() {
    let mut files = Files::new();
    let (sent, received) = whole(&mut files).await;
    assert_eq!(sent.unwrap(), FILE.len());
    received.unwrap();
    assert_eq!(files, with(FILE));
}

#[tokio::test]
async fn a_session_that_breaks_off_is_taken_up_from_its_offset() {
    let mut files = Files::new();
    for attempt in 0..3 {
        let (sender, receiver) = ends();
        let breaking = async {
            let (from, mut sender) = offer(sender, "letter", FILE).await.unwrap();
            assert_eq!(from, attempt * CHUNK);
            // One chunk, and then the session is dropped.
            send_chunks(&mut sender, &FILE[from..from + CHUNK]).await.unwrap();
        };
        let ((), received) = tokio::join!(breaking, receive(receiver, &mut files));
        let error = received.unwrap_err();
        assert!(matches!(error, FileTransferError::Disconnected { .. }), "{error}");
        assert_eq!(files, with(&FILE[..(attempt + 1) * CHUNK]));
    }
    let (sent, received) = whole(&mut files).await;
    assert_eq!(sent.unwrap(), FILE.len() - 3 * CHUNK);
    received.unwrap();
    assert_eq!(files, with(FILE));
}

#[tokio::test]
async fn what_is_there_already_is_not_sent_again() {
    let mut files = with(FILE);
    let (sent, received) = whole(&mut files).await;
    assert_eq!(sent.unwrap(), 0);
    received.unwrap();
    assert_eq!(files, with(FILE));
}

#[tokio::test]
async fn the_beginning_of_another_file_is_noticed_and_forgotten() {
    let mut files = with(b"something");
    let (sent, received) = whole(&mut files).await;
    let refused = sent.unwrap_err();
    assert!(matches!(&refused, FileTransferError::Refused(error) if error.code == DIFFERENT), "{refused}");
    assert!(received.is_err());
    // The next session starts from the beginning.
    let (sent, received) = whole(&mut files).await;
    assert_eq!(sent.unwrap(), FILE.len());
    received.unwrap();
    assert_eq!(files, with(FILE));
}

#[tokio::test]
async fn a_file_that_has_shrunk_is_refused() {
    let much = [FILE, b"more"].concat();
    let mut files = with(&much);
    let (sent, received) = whole(&mut files).await;
    let refused = sent.unwrap_err();
    assert!(matches!(&refused, FileTransferError::Refused(error) if error.code == SHRUNK), "{refused}");
    received.unwrap();
    assert_eq!(files, with(&much));
}
