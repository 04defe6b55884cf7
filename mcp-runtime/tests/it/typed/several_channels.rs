//! Several linear channels, and values that trail the wire.

mod game {
    mcp_runtime::protocol!("tests/sessions/halves.session");
}

use game::{Keeper, Notes, Player, Ticks, client, server};
use mcp_runtime::Error;
use mcp_runtime::transport::duplex;

async fn split() -> ((Player<Notes>, Player<Ticks>), (Keeper<Notes>, Keeper<Ticks>)) {
    let (here, there) = duplex();
    let (player, keeper) = (Player::new(here), Keeper::new(there));
    let keeper = async { keeper.recv_begin().await.unwrap().send_begun().await.unwrap() };
    let player = async { player.begin().await.unwrap() };
    let (player, keeper) = tokio::join!(player, keeper);
    (player.split(), keeper.split())
}

#[tokio::test]
async fn each_half_takes_its_own_inputs() {
    let ((mut notes, mut ticks), (mut keeper_notes, mut keeper_ticks)) = split().await;
    keeper_notes.send_hint(1).await.unwrap();
    keeper_ticks.send_tick(1).await.unwrap();
    keeper_notes.send_hint(2).await.unwrap();
    keeper_ticks.send_tick(2).await.unwrap();
    assert_eq!((ticks.recv_tick().await.unwrap(), ticks.recv_tick().await.unwrap()), (1, 2));
    assert_eq!((notes.recv_hint().await.unwrap(), notes.recv_hint().await.unwrap()), (1, 2));
    let listening = test_support::spawn(async move { ticks.recv_tick().await });
    notes.send_note("one".into()).await.unwrap();
    let server::NotesNext::Note(note, _keeper_notes) = keeper_notes.next().await.unwrap() else { panic!() };
    assert_eq!(note, "one");
    notes.close().await.unwrap();
    assert!(
        matches!(listening.await.unwrap(), Err(Error::Closed)),
        "a half that never ends is cut by the close"
    );
}

#[tokio::test]
async fn a_half_that_never_ends_can_be_let_go() {
    let ((mut notes, ticks), (keeper_notes, mut keeper_ticks)) = split().await;
    drop(ticks);
    keeper_ticks.send_tick(1).await.unwrap();
    drop(keeper_ticks);
    notes.send_note("still here".into()).await.unwrap();
    assert!(matches!(keeper_notes.next().await.unwrap(), server::NotesNext::Note(..)));
}

#[tokio::test]
async fn a_half_that_ends_takes_the_session_with_it() {
    let ((notes, mut ticks), (keeper_notes, _keeper_ticks)) = split().await;
    drop(notes);
    assert!(matches!(ticks.recv_tick().await, Err(Error::Closed)));
    assert!(matches!(keeper_notes.next().await, Ok(server::NotesNext::Closed)));
}

#[tokio::test]
async fn a_value_that_lags_may_still_send_and_what_crosses_a_step_is_late() {
    let ((notes, _ticks), (mut keeper, _keeper_ticks)) = split().await;
    // A hint crosses the surrender: the wire accepts it after the surrender, too, and drops it there.
    let surrender = notes.send_surrender().await.unwrap();
    keeper.send_hint(5).await.unwrap();
    let server::NotesNext::Surrender(keeper) = keeper.next().await.unwrap() else { panic!() };
    let mut keeper = keeper.send_surrendered("well played".into()).await.unwrap();
    keeper.send_hint(6).await.unwrap();
    let keeper = keeper.send_leave().await.unwrap();
    let (words, over) = surrender.recv_surrendered().await.unwrap();
    assert_eq!(words, "well played");
    let client::OverNext::Hint(6, over) = over.next().await.unwrap() else { panic!() };
    let client::OverNext::Leave(after) = over.next().await.unwrap() else { panic!() };
    assert_eq!(after.ping().await.unwrap(), serde_json::json!({}));
    drop(keeper);
}
