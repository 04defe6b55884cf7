//! This library without types on the client's side: the session of `ours`, driven as a `CheckedSession`.
//!
//! The server is that of `ours`, so that what differs between the two is the client's face alone. One call at a time is
//! `CheckedSession::call`. That borrows the session, so of many in flight each is a `request`, and the replies come
//! with `next`: one task does what in `ours` many tasks do.

use std::collections::HashMap;
use std::time::Instant;

use mcp_runtime::{CheckedSession, Event, Options, RequestId, transport};

use crate::contest::{Contestant, Done, InProcess, Plan, itself};
use crate::echo::{Caller, Teller, messages};
use crate::ours::{Ours, greet, serve};
use crate::payload::{Call, Told, Tool};

/// A session of `echo.session` that is judged at run time.
pub struct OursChecked;

async fn call(mut session: CheckedSession, plan: Plan) -> Done {
    let done = match plan.in_flight {
        1 => one_at_a_time(&mut session, plan).await,
        _ => many(&mut session, plan).await,
    };
    session.close().expect("it may be closed").await.expect("it can be closed");
    done
}

async fn one_at_a_time(session: &mut CheckedSession, plan: Plan) -> Done {
    let mut done = Done::new(plan);
    while !done.is_full() {
        let start = Instant::now();
        let told = session.call::<_, Told>(messages::TOOLS_CALL, &Call::of(plan.tool)).await;
        assert_eq!(told.expect("a call succeeds").length(), plan.tool.length());
        done.add(start.elapsed());
    }
    done
}

async fn many(session: &mut CheckedSession, plan: Plan) -> Done {
    let mut done = Done::new(plan);
    let mut running: HashMap<RequestId, Instant> = HashMap::with_capacity(plan.in_flight);
    while !done.is_full() {
        while running.len() < plan.in_flight && done.finished() + running.len() < plan.all() {
            let start = Instant::now();
            let id = session.request(messages::TOOLS_CALL, &Call::of(plan.tool)).await;
            running.insert(id.expect("a call is permitted"), start);
        }
        let Event::Reply { id, result, .. } = session.next().await.expect("the session goes on") else {
            panic!("the server does nothing but answer");
        };
        let told: Told = result.read().expect("it has its type");
        assert_eq!(told.length(), plan.tool.length());
        done.add(running.remove(&id).expect("it was asked").elapsed());
    }
    done
}

impl Contestant for OursChecked {
    async fn child(plan: Plan) -> Done {
        let child = transport::Child::spawn(itself("ours-checked")).expect("a child starts");
        call(greet(Caller::new(child)).await.into_checked(), plan).await
    }

    async fn serve_stdio() {
        Ours::serve_stdio().await;
    }
}

impl InProcess for OursChecked {
    async fn duplex(plan: Plan) -> Done {
        let (near, far) = transport::duplex();
        tokio::spawn(serve(Teller::with_options(
            far,
            Options::new().max_incoming(10_000).max_requests(10_000),
        )));
        call(greet(Caller::new(near)).await.into_checked(), plan).await
    }

    async fn idle(connections: usize) -> Vec<Box<dyn Send>> {
        let mut kept: Vec<Box<dyn Send>> = Vec::new();
        for _ in 0..connections {
            let (near, far) = transport::duplex();
            tokio::spawn(serve(Teller::new(far)));
            let mut session = greet(Caller::new(near)).await.into_checked();
            let told = session.call::<_, Told>(messages::TOOLS_CALL, &Call::of(Tool::Echo)).await;
            told.expect("a call succeeds");
            kept.push(Box::new(session));
        }
        kept
    }
}
