//! Two requests are open in one state. Either of them may be refused, and each refusal leads to a state of its own.

use mcp_runtime::transport::duplex;
use mcp_runtime::{RpcError, StepError};

mod booking {
    mcp_runtime::protocol!("protocols/booking.session");
}

use booking::client::WaitingNext;
use booking::{Desk, End, Guest, Waiting};

fn full() -> RpcError {
    RpcError::new(-32_001, "no table is free")
}

/// Both sides, after the two requests.
async fn waiting() -> (Guest<Waiting>, Desk<Waiting>) {
    let (near, far) = duplex();
    let guest = Guest::new(near).send_reserve("Ada".to_owned()).await.unwrap();
    let guest = guest.send_window().await.unwrap();
    let (_, desk) = Desk::new(far).recv_reserve().await.unwrap();
    (guest, desk.recv_window().await.unwrap())
}

async fn closed(guest: Guest<End>, desk: Desk<End>) {
    let (guest, desk) = tokio::join!(guest.close(), desk.close());
    guest.and(desk).unwrap();
}

#[tokio::test]
async fn next_says_which_request_was_refused() {
    let (guest, desk) = waiting().await;
    let desk = desk.refuse_window(full()).await.unwrap().refuse(full()).await.unwrap();
    let WaitingNext::WindowError(error, guest) = guest.next().await.unwrap() else {
        panic!("not the window")
    };
    assert_eq!(error, full());
    let Err(StepError::Refused { error, session }) = guest.recv_reserved().await else { panic!("reserved") };
    assert_eq!(error, full());
    closed(session, desk).await;
}

#[tokio::test]
async fn a_refusal_in_place_of_a_reply_leads_where_its_own_request_leads() {
    let (guest, desk) = waiting().await;
    let desk = desk.refuse_window(full()).await.unwrap().send_reserved(7).await.unwrap();
    let Err(StepError::Refused { session: reserving, .. }) = guest.recv_by_window().await else {
        panic!("a view")
    };
    let (table, guest) = reserving.recv_reserved().await.unwrap();
    assert_eq!(table, 7);
    closed(guest, desk).await;
}
