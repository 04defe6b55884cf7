//! A file transfer that resumes: `cargo run --example file_transfer --features macros`.
//!
//! A session that breaks off has ended. The receiver keeps the bytes that arrived, outside of the session. In the next
//! session the receiver replies with the offset from which it wants the rest. Both sides are in this program, connected
//! by an in-memory transport.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;

use mcp_runtime::RpcError;
use mcp_runtime::transport::duplex;

use payload::{Bytes, Checksum, Offered, Offset};
use transfer::{FileTransferError, Receiver, Sender, Sending, Start, server};

/// The payloads.
pub(crate) mod payload {
    use serde::{Deserialize, Serialize};

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Offered {
        pub(crate) name: String,
        pub(crate) size: usize,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Offset {
        pub(crate) offset: usize,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Bytes {
        pub(crate) bytes: Vec<u8>,
    }

    #[derive(Debug, Serialize, Deserialize)]
    pub(crate) struct Checksum {
        pub(crate) sum: u64,
    }
}

/// The generated code.
pub(crate) mod transfer {
    mcp_runtime::protocol!("./file_transfer.session");
}

/// The code with which the receiver refuses a file that is smaller than the part that it has.
pub(crate) const SHRUNK: i64 = 1;
/// The code with which the receiver refuses to finish a file that did not arrive as it was sent.
pub(crate) const DIFFERENT: i64 = 2;

/// The number of bytes in one message.
pub(crate) const CHUNK: usize = 4;

/// The files that a receiver has, complete or not.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

#[tokio::main]
async fn main() -> Result<(), FileTransferError> {
    let file = b"a file that needs more than one attempt";
    let mut files = Files::new();

    let (near, far) = duplex();
    let breaking = async {
        let (from, mut sender) = offer(Sender::new(near), "letter", file).await?;
        println!("the receiver wants it from {from}");
        send_chunks(&mut sender, file.get(from..20).unwrap_or_default()).await?;
        // Drops the session, as if the connection had been lost. What was written still goes out.
        Ok::<(), FileTransferError>(())
    };
    let (broken, received) = tokio::join!(breaking, receive(Receiver::new(far), &mut files));
    broken?;
    println!("the session broke off: {}", received.err().map(|error| error.to_string()).unwrap_or_default());

    let (near, far) = duplex();
    let whole = send(Sender::new(near), "letter", file);
    let (sent, received) = tokio::join!(whole, receive(Receiver::new(far), &mut files));
    println!("the rest was {} bytes", sent?);
    received?;
    println!("{:?}", files.get("letter").map(|bytes| String::from_utf8_lossy(bytes)));
    Ok(())
}

/// The sender: sends what the receiver does not have yet. Returns the number of bytes.
pub(crate) async fn send(sender: Sender<Start>, name: &str, file: &[u8]) -> Result<usize, FileTransferError> {
    let (from, mut sender) = offer(sender, name, file).await?;
    let rest = file.get(from..).unwrap_or_default();
    send_chunks(&mut sender, rest).await?;
    let (_, sender) = sender.finish(Checksum { sum: sum(file) }).await?;
    sender.close().await?;
    Ok(rest.len())
}

/// Offers a file. Returns the offset from which the receiver wants it.
pub(crate) async fn offer(
    sender: Sender<Start>,
    name: &str,
    file: &[u8],
) -> Result<(usize, Sender<Sending>), FileTransferError> {
    let (wanted, sender) = sender.offer(Offered { name: name.to_owned(), size: file.len() }).await?;
    Ok((wanted.offset, sender))
}

/// Sends bytes in chunks. Each chunk leads back to its own state, so it borrows the session.
pub(crate) async fn send_chunks(sender: &mut Sender<Sending>, bytes: &[u8]) -> Result<(), FileTransferError> {
    for chunk in bytes.chunks(CHUNK) {
        sender.send_chunk(Bytes { bytes: chunk.to_vec() }).await?;
    }
    Ok(())
}

/// The receiver: serves one session. `files` has the bytes that arrived in earlier sessions.
pub(crate) async fn receive(receiver: Receiver<Start>, files: &mut Files) -> Result<(), FileTransferError> {
    let (mut receiver, file, size) = {
        let (Offered { name, size }, receiver) = receiver.recv_offer().await?;
        let file = files.entry(name).or_default();
        if file.len() > size {
            // A refusal returns the previous state, but this receiver ends the session.
            let refusal = RpcError::new(SHRUNK, "there was more of this file before");
            receiver.refuse(refusal).await?.abort();
            return Ok(());
        }
        (receiver.send_wanted(Offset { offset: file.len() }).await?, file, size)
    };
    loop {
        receiver = match receiver.next().await? {
            server::SendingNext::Chunk(Bytes { bytes }, receiver) => {
                file.extend(bytes);
                receiver
            }
            server::SendingNext::Finish(Checksum { sum: wanted }, receiver) => {
                if file.len() == size && sum(file) == wanted {
                    let receiver = receiver.send_kept(Offset { offset: file.len() }).await?;
                    receiver.close().await?;
                    return Ok(());
                }
                // The bytes belong to another file. The next session starts from the beginning.
                file.clear();
                receiver.refuse(RpcError::new(DIFFERENT, "this is not the file that was sent")).await?
            }
        };
    }
}

/// A checksum that detects bytes that are missing, changed, or in another order.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(7, |sum: u64, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)))
}
